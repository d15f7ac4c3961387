"""The section of the comparison of an engine with its model: on which pictures, and what may differ."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.config.section import Fraction, Section

Whole = Annotated[int, Field(ge=0)]


class Verify(Section):
    """What a candidate's detections must have in common with those of the ONNX model in float32."""

    pictures: str | None = Field(
        None, description="folder of pictures of the line, relative to the configuration file; null: to be named"
    )
    least_pictures: Annotated[int, Field(ge=1)] = Field(10, description="fewer pictures prove nothing, and are refused")
    score: Fraction = Field(0.25, description="least score of a detection, for classes that no camera's rules name")
    slack: Fraction = Field(0.05, description="so much below its threshold a detection is still there, not lost")
    overlap: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="boxes of one class that overlap this much (IoU) are the same object"
    )
    max_lost: Fraction = Field(0.02, description="share of each class's detections that may be lost")
    max_invented: Fraction = Field(0.02, description="share of each class's detections that may be there in addition")
    min_iou: Fraction = Field(0.9, description="least mean IoU of each class's boxes with the model's")
    max_score_difference: Fraction = Field(0.05, description="most mean difference of each class's scores")
    min_same_verdicts: Fraction = Field(0.98, description="share of pictures that must keep their verdict")
    max_escapes: Whole = Field(0, description="pictures that the model calls NG and the candidate does not")
    max_map_drop: Fraction = Field(0.01, description="how far mAP may fall below the model's, where there are labels")
