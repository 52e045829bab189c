"""XPath, and CSS beside it or on XML, on lxml's trees."""
