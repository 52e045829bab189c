"""A small shop of our own to crawl: the same pages every time, served on loopback."""
