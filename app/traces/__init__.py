"""What can be read from a trace file: who makes the tail, one frame's life, a report."""
