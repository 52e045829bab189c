"""`doctor`: is the installation well, and what takes space?"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def doctor(data: Path | None, *, as_json: bool) -> int:
    """Check the installation and the servers of a cluster, and show what takes space."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, size, tell
    from smartspider.core.errors import StoreUnavailable
    from smartspider.installation.settings import read_settings
    from smartspider.services.doctor import DoctorCheck, check_installation
    from smartspider.installation.data_folder import all_folders
    from smartspider.wiring.folder import open_folder
    from smartspider.wiring.loop import run_loop

    if data is None and read_settings().is_cluster:
        return _of_cluster(as_json=as_json)
    places = all_folders(data)
    checks = check_installation()
    folders = {}
    for place in places:
        try:
            with open_folder(place) as folder:
                folders[str(place)] = run_loop(folder.store.sizes())
        except StoreUnavailable as error:
            checks.append(DoctorCheck(str(place), is_ok=False, detail=error.message))
    if as_json:
        print_json({"checks": checks, "folders": folders})
    else:
        for check in checks:
            tell(f"{'ok  ' if check.is_ok else 'BAD '} {check.what}: {check.detail}")
        for name, sizes in folders.items():
            parts = [f"{part} {size(count)}" for part, count in sizes.items() if part != "file"]
            tell(f"     {name}: {size(sizes['file'])} ({', '.join(parts)})")
    return code_of_findings(all_well=all(check.is_ok for check in checks))


def _of_cluster(*, as_json: bool) -> int:
    """Whether the servers of a cluster can be used, and what takes space in its store."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, size, tell
    from smartspider.installation.settings import read_settings
    from smartspider.services.doctor import check_installation
    from smartspider.wiring.checking import check_servers
    from smartspider.wiring.loop import run_loop

    checks = check_installation()
    servers, sizes = run_loop(check_servers(read_settings()))
    checks += servers
    if as_json:
        print_json({"checks": checks, "store": sizes})
    else:
        for check in checks:
            tell(f"{'ok  ' if check.is_ok else 'BAD '} {check.what}: {check.detail}")
        if sizes:
            parts = [f"{part} {size(count)}" for part, count in sizes.items() if part != "file"]
            tell(f"     the store: {', '.join(parts)}")
    return code_of_findings(all_well=all(check.is_ok for check in checks))
