"""`fsck`: does everything in a data folder or a cluster agree?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from smartspider.store.runs.fsck import Finding


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--repair", is_flag=True, help="Mend what can be mended from the rows.")
@click.option("--rebuild", is_flag=True, help="Of a cluster: fill the frontier anew from the store.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def fsck(data: Path | None, *, repair: bool, rebuild: bool, as_json: bool) -> int:
    """Check a data folder or a cluster; exit code 0 when nothing is wrong, or everything was repaired."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, tell
    from smartspider.wiring.loop import run_loop

    place, findings = run_loop(_found(data, repair=repair, rebuild=rebuild))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            tell(f"{'repaired' if finding.is_repaired else 'wrong'}: {finding.message}")
        if not findings:
            tell(f"{place} is in order")
        elif not repair:
            tell("run again with --repair to mend it")
    return code_of_findings(all_well=all(finding.is_repaired for finding in findings))


async def _found(data: Path | None, *, repair: bool, rebuild: bool) -> tuple[str, list[Finding]]:
    from smartspider.cli.output import say
    from smartspider.cli.place import CLUSTER
    from smartspider.installation.settings import Settings, read_settings
    from smartspider.wiring import checking
    from smartspider.installation.data_folder import find_folder
    from smartspider.wiring.opening import files_folder, open_installation

    settings = read_settings()
    is_cluster = settings.is_cluster and data is None
    path = files_folder(None, settings) if is_cluster else find_folder(data)
    settings = settings if is_cluster else Settings()
    async with open_installation(path, settings) as installation:
        if rebuild:
            parts = await checking.rebuild(installation)
            say(f"the frontier was filled anew, {parts} of {parts} parts serve")
        return CLUSTER if is_cluster else str(path), await checking.check(
            installation, settings, repair=repair
        )
