"""Attacks: pages that try to hold a crawler up, made on demand and harmless as values."""
