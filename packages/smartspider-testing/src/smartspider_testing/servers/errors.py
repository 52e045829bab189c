"""What goes wrong with servers that the test kit starts."""

from __future__ import annotations


class ServerFailed(Exception):
    """A server did not do what was asked of it; the message ends with the last lines of its log."""


class NotInstalled(ServerFailed):
    """A program that is needed is not on this machine; the message says what would bring it."""


class NotPossibleHere(ServerFailed):
    """This user or this machine may not do it; the message gives the reason to skip with."""
