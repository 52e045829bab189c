"""Local sites to crawl in tests: scripted, hostile, and one that changes at every fetch."""
