"""The store in SQL, for every database: plain functions inside a transaction, and stores over them."""
