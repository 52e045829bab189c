"""Response objects of the REST API, of `--json` and of the SDK, one file per noun.

Ids are opaque strings, times are ISO 8601 in UTC. Services build views; the API and the CLI only render them.
"""
