"""The built-in steps. Each takes its options as keyword arguments, as plug-ins do."""
