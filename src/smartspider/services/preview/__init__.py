"""Previews of tasks and rules."""
