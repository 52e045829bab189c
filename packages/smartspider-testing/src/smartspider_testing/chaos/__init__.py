"""Faults on a throw-away cluster: what is lost, doubled or hurried when anything dies."""
