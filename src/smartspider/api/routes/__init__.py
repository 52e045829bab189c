"""Routes: built from the table of operations, and written by hand for streams and unusual bodies."""
