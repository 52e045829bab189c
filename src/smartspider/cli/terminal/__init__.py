"""Standard streams, output, tables and prompts of commands."""
