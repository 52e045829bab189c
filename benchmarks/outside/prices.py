"""The prices of price-parser's tests, read by the step `number`.

    python -m benchmarks.outside.prices

The rows are the six tables of its `tests/test_price_parsing.py` that a price alone decides. Left out are
those with a decimal separator or a hint beside the price, the bugs found later, and the rows that
price-parser itself gets wrong. No price may be wrong by a factor of a thousand.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.numbers import NumberStep

SOURCE = "pypi:price-parser==0.5.0"
SHARE_ASKED = 1_015 / 1_033
TABLES = ("", "_2", "_3", "_NEW", "_NO_PRICE", "_NO_CURRENCY")
_NOWHERE = PageContext("", "", 0)


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked or with a price wrong by 1,000."""
    results = Results("prices")
    step = NumberStep()
    far_off = []
    for text, expected in read_rows(open_source(SOURCE) / "tests" / "test_price_parsing.py"):
        actual = read_price(step, text)
        results.add(repr(text), expected, actual)
        if expected and actual and round(max(expected, actual) / min(expected, actual)) in (1_000, 1_000_000):
            far_off.append(text)
    code = results.report(asked=SHARE_ASKED)
    print(f"wrong by a factor of a thousand: {len(far_off)} (asked 0)", *far_off)
    return code or bool(far_off)


def read_price(step: NumberStep, text: str | None) -> float | None:
    """Return the number of a text, or None."""
    try:
        return None if text is None else float(step.apply(text, _NOWHERE))
    except StepFailed:
        return None


def read_rows(path: Path) -> Iterator[tuple[str | None, float | None]]:
    """Yield each price as written, and the amount expected."""
    wanted = {f"PRICE_PARSING_EXAMPLES{name}" for name in TABLES}
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id in wanted for target in targets):
            for call in ast.walk(node):
                if isinstance(call, ast.Call):
                    _, price, _, _, amount = (ast.literal_eval(value) for value in call.args[:5])
                    yield price, None if amount is None else float(amount)


if __name__ == "__main__":
    sys.exit(main())
