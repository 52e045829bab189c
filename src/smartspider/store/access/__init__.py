"""Users, tokens and sessions."""
