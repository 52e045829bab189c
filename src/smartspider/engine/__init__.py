"""What turns leases into settlements."""
