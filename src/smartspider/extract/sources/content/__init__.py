"""The main content of a page: article and Markdown."""
