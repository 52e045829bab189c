"""Contracts of the frontier: queues, leases, gates, fairness and crashes."""
