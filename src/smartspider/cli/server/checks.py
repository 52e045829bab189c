"""`doctor`, `fsck`: check an installation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import format_size, print_line, print_message, printed

if TYPE_CHECKING:
    from smartspider.services.doctor import DoctorCheck
    from smartspider.store.runs.fsck import Finding

DATA = click.option(
    "--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder."
)


class DoctorReport(msgspec.Struct, frozen=True):
    """Checks of an installation, and what takes space: in the store of a cluster, or by data folder."""

    checks: list[DoctorCheck]
    folders: dict[str, dict[str, int]] = {}
    store: dict[str, int] | None = None
    """None: the installation is no cluster."""

    @property
    def is_ok(self) -> bool:
        """True if every check passed."""
        return all(check.is_ok for check in self.checks)


def _print_report(report: DoctorReport) -> None:
    for check in report.checks:
        print_line(f"{'ok  ' if check.is_ok else 'BAD '} {check.what}: {check.detail}")
    for name, sizes in report.folders.items():
        print_line(f"     {name}: {format_size(sizes['file'])} ({_sizes_text(sizes)})")
    if report.store:
        print_line(f"     the store: {_sizes_text(report.store)}")


def _sizes_text(sizes: dict[str, int]) -> str:
    return ", ".join(f"{part} {format_size(size)}" for part, size in sizes.items() if part != "file")


def _report_json(report: DoctorReport) -> dict[str, Any]:
    if report.store is None:
        return {"checks": report.checks, "folders": report.folders}
    return {"checks": report.checks, "store": report.store}


@click.command()
@with_target
@printed(
    _print_report,
    to_json=_report_json,
    exit_code=lambda report: code_of_findings(is_ok=report.is_ok),
    about="Print the report as JSON.",
)
def doctor(target: Target) -> DoctorReport:
    """Check the installation and the servers of a cluster, and show disk use; or check a server."""
    from smartspider.core.errors import StoreUnavailable
    from smartspider.installation.data_folder import all_folders
    from smartspider.installation.settings import read_settings
    from smartspider.services.doctor import DoctorCheck, check_installation
    from smartspider.wiring.checks import check_cluster, check_folder
    from smartspider.wiring.opening import open_folder
    from smartspider.wiring.processes.lifecycle import run_loop

    if target.remote() is not None:
        found = target.run(lambda operations: operations.get_doctor())
        return DoctorReport([DoctorCheck(one.name, one.ok, one.detail) for one in found.checks])
    data = target.data
    settings = read_settings() if data is None else None
    if settings is not None and settings.is_cluster:
        checks = check_installation()
        servers, sizes = run_loop(check_cluster(settings))
        return DoctorReport(checks + servers, store=sizes)
    paths = all_folders(data)
    checks = check_installation()
    folders = {}
    for path in paths:
        try:
            with open_folder(path) as folder:
                folders[str(path)] = run_loop(folder.store.sizes())
                checks += run_loop(check_folder(folder))
        except StoreUnavailable as error:
            checks.append(DoctorCheck(str(path), is_ok=False, detail=error.message))
    return DoctorReport(checks, folders)


class FsckReport(msgspec.Struct, frozen=True):
    """Inconsistencies of a data folder or a cluster."""

    name: str
    findings: list[Finding]
    has_repaired: bool

    @property
    def is_ok(self) -> bool:
        """True if nothing is left to repair."""
        return all(finding.is_repaired for finding in self.findings)


def _print_findings(report: FsckReport) -> None:
    for finding in report.findings:
        print_line(f"{'repaired' if finding.is_repaired else 'inconsistent'}: {finding.message}")
    if not report.findings:
        print_line(f"{report.name} is consistent")
    elif not report.has_repaired:
        print_line("run again with --repair to repair these problems")


@click.command()
@DATA
@click.option("--repair", is_flag=True, help="Repair inconsistencies from the stored rows.")
@click.option("--rebuild", is_flag=True, help="On a cluster, rebuild the frontier from the store.")
@printed(
    _print_findings,
    to_json=lambda report: report.findings,
    exit_code=lambda report: code_of_findings(is_ok=report.is_ok),
    about="Print the findings as JSON.",
)
def fsck(data: Path | None, *, repair: bool, rebuild: bool) -> FsckReport:
    """Check the consistency of a data folder or a cluster; exit code 0 if it is consistent or all problems
    were repaired.
    """
    from smartspider.wiring.processes.lifecycle import run_loop

    return run_loop(_check(data, repair=repair, rebuild=rebuild))


async def _check(data: Path | None, *, repair: bool, rebuild: bool) -> FsckReport:
    from smartspider.cli.target import CLUSTER
    from smartspider.installation.data_folder import find_folder
    from smartspider.installation.settings import Settings, read_settings
    from smartspider.wiring.checks import check_consistency, rebuild_frontier
    from smartspider.wiring.opening import files_folder, open_installation

    settings = read_settings()
    is_cluster = settings.is_cluster and data is None
    path = files_folder(None, settings) if is_cluster else find_folder(data)
    settings = settings if is_cluster else Settings()
    async with open_installation(path, settings) as installation:
        if rebuild:
            parts = await rebuild_frontier(installation)
            print_message(f"the frontier was rebuilt; {parts} of {parts} shards are serving")
        findings = await check_consistency(installation, repair=repair)
        return FsckReport(CLUSTER if is_cluster else str(path), findings, has_repaired=repair)
