"""Builds engines from ONNX models, for the machine that it runs on, and sees that they find what the model finds.

    model.onnx ─► precision ─► fp16 / int8 ─► child process ─► verify ─► model.engine + model.engine.json
                  what must     an ONNX that   parse, build:    refused
                  it carry?     carries it     progress, cache  otherwise

`build.py` has the steps in order; `options.py` what they share.
"""
