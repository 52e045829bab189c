"""PostgreSQL servers and databases for tests."""
