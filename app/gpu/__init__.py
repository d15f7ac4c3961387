"""What runs on an NVIDIA GPU: the device and its memory, streams and graphs, and our kernels."""
