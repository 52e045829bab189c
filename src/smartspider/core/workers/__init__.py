"""Values about workers: registration, health, scaling, assignment of hosts."""
