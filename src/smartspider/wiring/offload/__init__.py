"""Processes that compute for a server with what users sent, each call with a time limit."""
