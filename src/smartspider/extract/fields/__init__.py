"""Fields: find the values of rules in a page or its items."""
