"""Cookies of the browsers on this machine."""
