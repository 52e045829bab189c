"""Redis servers for tests: single, Sentinel and Cluster."""
