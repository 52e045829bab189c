"""Store and frontier apart: PostgreSQL and Redis settled together."""
