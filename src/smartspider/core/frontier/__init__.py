"""Values of the frontier: leases, verdicts, and updates of a remote frontier."""
