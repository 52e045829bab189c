"""Contracts of tasks and schedules."""
