"""Layers in front of the store's unique key that all workers share: exact sets, Bloom filters, estimates."""
