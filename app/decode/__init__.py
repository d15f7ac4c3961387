"""6. Raw tensors to detections."""
