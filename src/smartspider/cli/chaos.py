"""`chaos`: break a throw-away cluster in every way there is, and count."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--only", "names", multiple=True, metavar="NAME", help="Only this fault; may be repeated.")
@click.option("--list", "lists", is_flag=True, help="List the faults and what is expected of each.")
@click.option("--short", "is_short", is_flag=True, help="Only the few that take little time.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=None, help="Workers, instead of each fault's own."
)
@click.option("--pages", type=click.IntRange(50), default=None, help="Pages, instead of each fault's own.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    help="Keep the logs of all faults here.  [default: only of those that fail, in a temporary folder]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def chaos(
    names: tuple[str, ...],
    workers: int | None,
    pages: int | None,
    keep: Path | None,
    *,
    lists: bool,
    is_short: bool,
    as_json: bool,
) -> int:
    """Run faults on a throw-away cluster; exit code 0 when nothing was lost, doubled or hurried.

    Every fault has its own PostgreSQL, Redis, keeper, workers and site on this machine, on free ports. Needs
    redis-server 7, redis-sentinel and PostgreSQL 15 or newer; faketime for the faults with wrong clocks.
    """
    from difflib import get_close_matches

    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, say, tell
    from smartspider.core.extras import require_package

    require_package("`smartspider chaos`", "smartspider_testing", "smartspider-testing")
    from smartspider_testing.chaos.faults import FAULTS
    from smartspider_testing.chaos.report import FaultResult, format_table
    from smartspider_testing.chaos.runner import ScaleOverrides, run_faults, select_faults

    known = [fault.name for fault in FAULTS]
    unknown = sorted(set(names) - set(known))
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise click.BadParameter(
            f"no fault is called {unknown[0]!r}; {meant}--list shows all", param_hint="--only"
        )
    faults = select_faults(FAULTS, names, is_short=is_short)
    if lists:
        listed = [{"name": one.name, "fault": one.row, "expected": one.expected} for one in faults]
        if as_json:
            print_json(listed)
        else:
            width = max(len(one["name"]) for one in listed)
            for one in listed:
                tell(f"{one['name']:<{width}}  {one['fault']}: {one['expected']}")
        return code_of_findings(all_well=True)

    def on_result(result: FaultResult) -> None:
        notes = f" ({'; '.join(result.notes)})" if result.notes else ""
        say(f"{result.verdict:<7}  {result.fault}: {result.row}, {result.seconds:.0f} s{notes}")

    results = run_faults(faults, ScaleOverrides(pages, workers), keep, on_result)
    if as_json:
        print_json([{**_plain(result), "verdict": result.verdict} for result in results])
    else:
        tell(format_table(results))
    return code_of_findings(all_well=not any(result.problems for result in results))


def _plain(value: object) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(value)
    return plain
