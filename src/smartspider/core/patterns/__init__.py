"""Regular expressions that people write, searched with a bound on time."""
