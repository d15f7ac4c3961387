"""What makes frames take equally long: garbage between frames, the interpreter's beat, threads in their place."""
