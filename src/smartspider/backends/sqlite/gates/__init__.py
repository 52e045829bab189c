"""The gates of hosts: of a data folder, and of all crawls of a user on this machine."""
