"""The items of runs: filtered, sorted, paged and counted."""
