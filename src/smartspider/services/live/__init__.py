"""Live streams of events and log lines."""
