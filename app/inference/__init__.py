"""5. Network input to raw tensors."""
