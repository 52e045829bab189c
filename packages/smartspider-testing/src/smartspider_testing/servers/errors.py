"""Errors of servers that the test kit starts."""

from __future__ import annotations


class ServerFailed(Exception):
    """A server failed; the message ends with the last lines of its log."""


class NotInstalled(ServerFailed):
    """A required program is missing; the message names the package."""


class NotPossibleHere(ServerFailed):
    """This user or this machine is not allowed to do it; the message is the reason for a skip."""
