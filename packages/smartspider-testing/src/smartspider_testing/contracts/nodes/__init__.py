"""Contracts of workers, leadership and scaling."""
