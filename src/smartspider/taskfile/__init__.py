"""The task file: its model, its JSON Schema, friendly errors, and compilation to core values."""
