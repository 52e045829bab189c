"""Migration of a data folder to a cluster."""
