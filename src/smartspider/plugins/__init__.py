"""Plug-ins: finding an implementation by its name."""
