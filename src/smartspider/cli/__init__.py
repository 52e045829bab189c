"""The command line: a thin edge. Commands import what they need when they are called."""
