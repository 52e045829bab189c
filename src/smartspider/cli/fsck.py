"""`fsck`: does everything in a data folder agree?"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--repair", is_flag=True, help="Mend what can be mended from the rows.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def fsck(data: Path | None, *, repair: bool, as_json: bool) -> int:
    """Check a data folder; exit code 0 when nothing is wrong, or everything was repaired."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, tell
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data)) as folder:
        findings = run_loop(folder.store.fsck(repair=repair))
        path = folder.path
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            tell(f"{'repaired' if finding.is_repaired else 'wrong'}: {finding.message}")
        if not findings:
            tell(f"{path} is in order")
        elif not repair:
            tell("run again with --repair to mend it")
    return code_of_findings(all_well=all(finding.is_repaired for finding in findings))
