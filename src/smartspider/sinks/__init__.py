"""One sink per file: where items go."""
