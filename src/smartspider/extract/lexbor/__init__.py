"""CSS on Lexbor's tree: how HTML is read unless a page type has XPath rules."""
