"""The compliance tests of JMESPath, by the rule type `jmespath`.

    python -m benchmarks.outside.jmespath_cases

An expression that the tests call wrong (`syntax`, `invalid-arity`, `unknown-function`) must be refused when
the task is checked. A value of the wrong type for a function (`invalid-type`, `invalid-value`) must give
null: a page cannot break a task.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.extract.errors import InvalidExpression
from smartspider.extract.jmes import JmesExpression

SOURCE = "github:jmespath/jmespath.test@53abcc37901891cf4308fcd910eab287416c4609"
_AT_RUN_TIME = {"invalid-type", "invalid-value"}
_REFUSED = "refused"


def main() -> int:
    """Print the figure and the failures; return 1 if there are any."""
    results = Results("jmespath")
    for name, given, case in read_cases(open_source(SOURCE) / "tests"):
        error = case.get("error")
        expected = case.get("result") if error is None or error in _AT_RUN_TIME else _REFUSED
        try:
            actual = JmesExpression(case["expression"]).search(given)
        except InvalidExpression:
            actual = _REFUSED
        results.add(f"{name} {case['expression']!r}", json.dumps(expected), json.dumps(actual))
    return results.report(asked=1)


def read_cases(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the file, the document and the expression of each case."""
    for path in sorted(folder.glob("*.json")):
        for group in json.loads(path.read_text()):
            for case in group["cases"]:
                if "result" in case or "error" in case:
                    yield path.stem, group["given"], case


if __name__ == "__main__":
    sys.exit(main())
