"""What people and programs are told: the answers of REST, of `--json` and of the SDK, one file per noun.

Ids are opaque strings, moments ISO 8601 in UTC. Services make views; the API and the CLI only show them.
"""
