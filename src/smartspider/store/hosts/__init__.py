"""Hosts, their gates and their robots.txt."""
