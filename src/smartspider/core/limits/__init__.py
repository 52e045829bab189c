"""Limits that users share: rates, concurrent work, quotas."""
