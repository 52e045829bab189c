"""One package per technology, each behind the protocols of `interfaces` and `store`."""
