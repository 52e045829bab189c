"""Finding the list, its fields and the next page of a page that nobody has described yet."""
