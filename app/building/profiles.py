"""Which shapes an engine takes: the model's own, and for open axes what the options say."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import ModelError
from app.inference.engine_file import Range
from app.inference.shapes import fixed, known_shape, resolve_inputs
from app.model import TensorSpec


def input_ranges(
    inputs: Sequence[TensorSpec], batches: Sequence[int], input_wh: tuple[int, int] | None
) -> dict[str, tuple[Range, ...]]:
    """Return the shapes of each input: one range for each batch that must run fast, from just above the one before.

    So every batch up to the largest is taken, and the named ones have kernels chosen for them.

    Args:
        inputs: of the model, open axes None.
        batches: smallest first.
        input_wh: pixels, for models that leave them open.

    Raises:
        ModelError: an axis stays open, or the model fixes what is asked for otherwise.
    """
    whole = resolve_inputs(inputs, input_wh, channels=3, nhwc=None)
    if all(fixed(spec.shape[0] if spec.shape else 1) is not None for spec in inputs):
        _check_fixed_batch(inputs, batches)
        return {spec.name: (Range(shape := known_shape(spec), shape, shape),) for spec in whole}
    open_batch = {spec.name for spec in inputs if spec.shape and spec.shape[0] is None}
    return {
        spec.name: tuple(
            _range(known_shape(spec), least, most, is_open=spec.name in open_batch)
            for least, most in zip([1, *(batch + 1 for batch in batches)], batches, strict=False)
        )
        for spec in whole
    }


def _range(shape: tuple[int, ...], least: int, most: int, *, is_open: bool) -> Range:
    if not is_open:
        return Range(shape, shape, shape)
    return Range((least, *shape[1:]), (most, *shape[1:]), (most, *shape[1:]))


def _check_fixed_batch(inputs: Sequence[TensorSpec], batches: Sequence[int]) -> None:
    """See that a model with a fixed batch is asked for no other.

    A fixed batch above 1 is fed whole and one row is used, so that a plain `--batch 1` is right for it, too.
    """
    pictures = [spec.shape[0] for spec in inputs if spec.shape]
    if tuple(batches) not in {(1,), (pictures[0] if pictures else 1,)}:
        raise ModelError(
            f"--batch {','.join(map(str, batches))}: the model fixes its batch at {pictures[0] if pictures else 1}: "
            "export it with an open batch axis (dynamic=True in Ultralytics), or leave --batch out"
        )
