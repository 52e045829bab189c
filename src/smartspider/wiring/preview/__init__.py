"""Previews of tasks and pages, which store nothing."""
