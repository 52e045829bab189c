"""The store: plain SQL on the `Database` seam, grouped by noun. Each class numbers its promises."""
