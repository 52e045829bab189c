"""Task files: the model, its JSON Schema, error messages, and compilation to a plan."""
