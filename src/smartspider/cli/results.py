"""`results`: the rows of a run, whenever they are wanted. Each command is imported when it is called."""

from __future__ import annotations

from smartspider.cli.commands import LazyGroup

RESULTS: dict[str, tuple[str, str]] = {
    "show": ("smartspider.cli.results_show:show", "Show rows of a run."),
    "export": ("smartspider.cli.results_export:export", "Write all rows of a run to files."),
    "diff": ("smartspider.cli.results_diff:diff", "Show what changed from one run to another."),
    "rejects": ("smartspider.cli.results_rejects:rejects", "Show items that were not kept, and why."),
    "cleaning": ("smartspider.cli.results_cleaning:cleaning", "Show what steps made of values."),
}
"""Name → where it is, and one line about it."""

results = LazyGroup("results", RESULTS, "Show, export and compare the rows of a run.")
