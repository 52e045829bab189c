"""URL filters that all workers of a cluster share: exact sets, Bloom filters, estimates."""
