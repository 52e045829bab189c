"""Commands that run a server's processes, and check or migrate an installation."""
