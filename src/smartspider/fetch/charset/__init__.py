"""The charset of a body: labels, declarations in a page, and guesses."""
