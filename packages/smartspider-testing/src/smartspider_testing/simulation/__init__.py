"""A deterministic simulation of crawls with faults, on the real SQLite backend and virtual time."""
