"""Steps: what happens to values and items between extraction and the store."""
