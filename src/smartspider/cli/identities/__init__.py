"""Commands about secrets and proxies."""
