"""INT8 by the ONNX: pictures of the line in, a model with Q/DQ nodes out, and figures of what that changes.

    pictures ─► observe ─► thresholds ─► sweep ─► qdq ─► agreement
    chosen,     how large   where each    which    the    beside the
    split       values get  range ends    layers   model  FP32 model
                                          suffer

`calibrate.py` has the steps in order.
"""
