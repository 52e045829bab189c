"""Processes of an installation: the leader, workers and their desired number."""
