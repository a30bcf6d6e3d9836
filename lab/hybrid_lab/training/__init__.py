"""Scripts that make the files of the shipped model and of the gate's background."""
