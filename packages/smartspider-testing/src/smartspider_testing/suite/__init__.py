"""Plug-ins for pytest that let a suite end, whatever its tests do."""
