"""The CUDA kernels: sources as package data, and the records they share with the host."""
