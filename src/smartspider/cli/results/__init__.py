"""Commands about the rows of runs."""
