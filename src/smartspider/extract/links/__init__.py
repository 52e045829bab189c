"""Links: next requests from follow rules, pagination and sitemaps."""
