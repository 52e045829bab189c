"""Preview."""
