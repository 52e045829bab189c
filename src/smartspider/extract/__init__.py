"""Reading pages: rules compiled once per task, one parse per page.

Compiling, from the outside in: `compile` (a task), `page_rules` (a page type), `rule_compiler` (a field),
`one_rule` (an expression), for an `engine`: `lexbor` or `libxml`. Reading: `page_reader` (a page), `document`
(its forms), `scopes` (where fields are looked up), `columns` and its kinds (`json_column`, `regex_column`,
`objects`, `treated`), then `links` with `follows` and `pagination`. `sources` is what pages say about
themselves; a `sitemap` is read without rules.
"""
