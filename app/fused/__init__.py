"""The first look as one launch on the GPU: letterbox, network and decoding in a graph; see docs/gpu.md."""
