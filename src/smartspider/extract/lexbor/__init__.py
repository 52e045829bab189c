"""CSS on Lexbor's tree: the default engine for HTML."""
