"""Extraction: rules are compiled once per task, each page is parsed once.

Start at `compile` (a task) and `page_reader` (a page). `rules` compiles page types and fields for an
engine, `lexbor` or `libxml`; `parsing` turns bytes into documents; `fields` finds values; `links` finds
requests, also in sitemaps; `sources` reads data that pages carry, such as JSON-LD.
"""
