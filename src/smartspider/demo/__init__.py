"""A small demo shop to crawl: the same pages every time, served on loopback."""
