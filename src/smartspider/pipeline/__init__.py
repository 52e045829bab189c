"""Steps: convert and check values and items between extraction and the store."""
