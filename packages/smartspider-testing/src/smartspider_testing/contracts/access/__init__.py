"""Contracts of users, sessions, the audit log and idempotency keys."""
