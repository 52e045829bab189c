"""Commands about task files and saved tasks."""
