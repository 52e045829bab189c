"""Store, frontier and ledger in one SQLite file: a crawl needs no server."""
