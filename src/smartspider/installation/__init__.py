"""An installation: its stores, settings and keys, and the data folder it may be in."""
