"""Services: the functions behind every operation, called by the API, the command line and the keeper."""
