"""The fields of items: where values are, what they are called and how they are taken."""
