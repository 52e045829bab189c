"""The Python SDK: `Client` for programs that speak to a server, and `SyncClient` for scripts."""
