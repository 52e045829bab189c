"""Values about requests: URLs, fingerprints, bodies, scope, politeness, retries, recrawls."""
