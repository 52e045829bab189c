"""Rules: compile page types, fields and expressions for an engine."""
