"""Commands about users, API tokens and server profiles."""
