"""What the user sees and keeps of a run: terminal, files, TensorBoard."""
