"""The operations of the API, by noun: the table that routes, command line and client share."""
