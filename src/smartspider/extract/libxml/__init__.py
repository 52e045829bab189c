"""XPath on lxml's trees, and CSS on XML or beside XPath."""
