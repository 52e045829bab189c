"""Lists of elements: groups of alike elements, tables and siblings, scored and written as rules."""
