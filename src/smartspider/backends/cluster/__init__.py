"""PostgreSQL and Redis settled together."""
