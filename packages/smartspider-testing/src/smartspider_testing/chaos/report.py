"""The result of a fault, and the table of all results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

COLUMNS = ("fault", "lost", "doubled", "extra", "gap", "outage", "time", "verdict")


class FaultResult(msgspec.Struct, frozen=True):
    """The result of a fault; it holds if there are no problems."""

    fault: str
    row: str
    expected: str
    lost: int | None = None
    doubled: int | None = None
    extra_fetches: int | None = None
    smallest_gap_s: float | None = None
    delay_s: float = 0.0
    outage_s: float | None = None
    seconds: float = 0.0
    problems: list[str] = []
    notes: list[str] = []
    skipped: str = ""
    """The reason it could not run here."""

    @property
    def verdict(self) -> str:
        """`holds`, `FAILS`, or `skipped`."""
        if self.skipped:
            return "skipped"
        return "FAILS" if self.problems else "holds"

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        gap = (
            ""
            if self.smallest_gap_s is None
            else f"{self.smallest_gap_s * 1000:.0f}/{self.delay_s * 1000:.0f} ms"
        )
        return [
            self.fault,
            _number(self.lost),
            _number(self.doubled),
            _number(self.extra_fetches),
            gap if self.delay_s else "",
            "" if self.outage_s is None else f"{self.outage_s:.1f} s",
            f"{self.seconds:.0f} s",
            self.verdict,
        ]


def detail_lines(result: FaultResult) -> list[str]:
    """Return the problems, or the reason for a skip, below the row; long lists are truncated."""
    if result.skipped:
        return [f"    {result.skipped}"]
    shown = [f"    {problem}" for problem in result.problems[:8]]
    if len(result.problems) > len(shown):
        shown.append(f"    and {len(result.problems) - len(shown)} more")
    return shown


def format_table(results: Sequence[FaultResult]) -> str:
    """Return the table of all results."""
    rows = [list(COLUMNS), *(result.cells for result in results)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
        if number:
            lines += detail_lines(results[number - 1])
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
