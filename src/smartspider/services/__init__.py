"""Use cases, called alike by every edge."""
