"""The plugs: one folder per technology, each behind the Protocols of `interfaces`."""
