"""What a server does for who asks it, done on a data folder: commands work alike on both."""
