"""Commands that fetch: crawl a task, preview it, or try rules on one page."""
