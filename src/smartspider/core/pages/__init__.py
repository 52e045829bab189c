"""Values about pages: responses, extraction rules, extracted items and links."""
