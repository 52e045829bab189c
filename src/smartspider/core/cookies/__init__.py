"""Cookies as browsers keep them (RFC 6265)."""
