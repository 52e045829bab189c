"""The model of a task file: what users write, validated by pydantic."""
