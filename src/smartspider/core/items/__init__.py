"""Values about items: columns, filters, deduplication."""
