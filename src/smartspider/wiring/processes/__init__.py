"""The processes of a server: workers, keeper, and the group that supervises them."""
