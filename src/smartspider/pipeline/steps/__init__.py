"""The built-in steps. Options are keyword arguments, as in plug-ins."""
