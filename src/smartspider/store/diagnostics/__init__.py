"""Progress, blockers and details of runs and requests, read only."""
