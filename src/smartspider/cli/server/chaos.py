"""`chaos`: inject faults into a temporary cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.terminal.output import print_line, print_message, printed


class ChaosReport(msgspec.Struct, frozen=True):
    """The table of faults or of their results, as JSON and as text."""

    rows: list[dict[str, Any]]
    text: str
    is_ok: bool = True


def _print_report(report: ChaosReport) -> None:
    print_line(report.text)


@click.command()
@click.option("--only", "names", multiple=True, metavar="NAME", help="Run only this fault; may be repeated.")
@click.option("--list", "lists", is_flag=True, help="List the faults and the expected outcome of each.")
@click.option("--short", "is_short", is_flag=True, help="Run only the short faults.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=None,
    help="Number of workers.  [default: set by each fault]",
)
@click.option(
    "--pages", type=click.IntRange(50), default=None, help="Number of pages.  [default: set by each fault]"
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    help="Keep the logs of all faults in this folder."
    "  [default: logs of failed faults only, in a temporary folder]",
)
@printed(
    _print_report,
    to_json=lambda report: report.rows,
    exit_code=lambda report: code_of_findings(is_ok=report.is_ok),
    about="Print the table as JSON.",
)
def chaos(
    names: tuple[str, ...],
    workers: int | None,
    pages: int | None,
    keep: Path | None,
    *,
    lists: bool,
    is_short: bool,
) -> ChaosReport:
    """Inject faults into a temporary cluster.

    The exit code is 0 if no page was lost or stored twice and no request was sent too early. Each fault
    runs with its own PostgreSQL, Redis, keeper, workers and site on this machine, on free ports. Requires
    redis-server 7, redis-sentinel and PostgreSQL 15 or newer; faketime for the faults with wrong clocks.
    """
    from smartspider.core.extras import require_package

    require_package("`smartspider chaos`", "smartspider_testing", "smartspider-testing")
    from smartspider_testing.chaos.faults import FAULTS
    from smartspider_testing.chaos.report import FaultResult, format_table
    from smartspider_testing.chaos.runner import ScaleOverrides, run_faults, select_faults

    _check_names(names, [fault.name for fault in FAULTS])
    faults = select_faults(FAULTS, names, is_short=is_short)
    if lists:
        rows = [{"name": one.name, "fault": one.row, "expected": one.expected} for one in faults]
        width = max(len(one["name"]) for one in rows)
        lines = [f"{one['name']:<{width}}  {one['fault']}: {one['expected']}" for one in rows]
        return ChaosReport([*rows], "\n".join(lines))

    def on_result(result: FaultResult) -> None:
        notes = f" ({'; '.join(result.notes)})" if result.notes else ""
        print_message(f"{result.verdict:<7}  {result.fault}: {result.row}, {result.seconds:.0f} s{notes}")

    results = run_faults(faults, ScaleOverrides(pages, workers), keep, on_result)
    return ChaosReport(
        [{**msgspec.to_builtins(result), "verdict": result.verdict} for result in results],
        format_table(results),
        is_ok=not any(result.problems for result in results),
    )


def _check_names(names: tuple[str, ...], faults: list[str]) -> None:
    """Raise a usage error for the first unknown fault."""
    from difflib import get_close_matches

    unknown = sorted(set(names) - set(faults))
    if unknown:
        near = get_close_matches(unknown[0], faults, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise click.BadParameter(
            f"unknown fault {unknown[0]!r}; {meant}--list shows all faults", param_hint="--only"
        )
