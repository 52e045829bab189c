"""Attacks: pages that try to hold a crawler up, and WebSockets that try to hold up a server."""
