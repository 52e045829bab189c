"""The disposable cluster of one fault: servers, processes, site and runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import msgspec

from smartspider_testing.chaos.processes import ADMIN_TOKEN, ClusterProcess, WaitTimeout, log_tail, wait_until
from smartspider_testing.chaos.servers import ChaosServers
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.chaos.site import SiteLayout
from smartspider_testing.chaos.site_client import SiteClient, run_site
from smartspider_testing.chaos.store_reader import RunRow, StoreReader
from smartspider_testing.chaos.task import site_task

READY_S = 40.0
COMMAND_S = 40.0
OVER = frozenset({"completed", "failed", "cancelled"})
SETTINGS = {
    "SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.0/8",
    "SMARTSPIDER_MASTER_KEY": "a key of a cluster that is thrown away",
    "SMARTSPIDER_ADMIN_TOKEN": ADMIN_TOKEN,
    "SMARTSPIDER_LOG_LEVEL": "info",
    "LC_ALL": "C.UTF-8",
}


class CommandResult(msgspec.Struct, frozen=True):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON value it printed."""
        return msgspec.json.decode(self.out)


class ChaosCluster:
    """A cluster that faults break, with conditions to wait for."""

    def __init__(self, folder: Path, setup: ClusterSetup, template: Path) -> None:
        self.folder = folder
        self.setup = setup
        self.layout = SiteLayout(
            pages=setup.pages,
            hosts=setup.hosts,
            has_twins=setup.has_twins,
            is_wide=setup.is_wide,
            with_nul=setup.with_nul,
        )
        self.servers = ChaosServers(folder / "servers", setup, template)
        self.workers: list[ClusterProcess] = []
        self.keepers: list[ClusterProcess] = []
        self.run_id = 0
        self.fault_at: float | None = None
        """Monotonic time at which the fault began."""
        self.allowed_extra: int | None = None
        """Fetches beyond one per page that the fault explains; None for any number."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._processes: list[ClusterProcess] = []
        self._open = ExitStack()
        self.site: SiteClient
        self.store: StoreReader

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            opening.enter_context(self.servers)
            self.site = opening.enter_context(run_site(self.layout))
            self.site.behave(latency_s=self.setup.latency_s)
            self.store = StoreReader(self.servers.postgres, self.servers.database)
            opening.callback(self._kill_all)
            self.keepers += [self.start_process("keeper") for _ in range(self.setup.keepers)]
            self.workers += [self.start_worker() for _ in range(self.setup.workers)]
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    # ------------------------------------------------------------------ processes

    def environment(self, **more: str) -> dict[str, str]:
        """Return the settings of the cluster's processes."""
        return {
            **SETTINGS,
            "HOME": str(self.folder),
            "SMARTSPIDER_STORE_URL": self.servers.store_url,
            "SMARTSPIDER_FRONTIER_URL": self.servers.frontier_url,
            **self.setup.environment,
            **more,
        }

    def start_process(self, role: str, *words: str, **more: str) -> ClusterProcess:
        """Start another process of the cluster."""
        name = f"{role}-{len(self._processes)}"
        process = ClusterProcess(name, [role, *words], self.folder / name, self.environment(**more))
        process.start()
        self._processes.append(process)
        return process

    def start_worker(self, **more: str) -> ClusterProcess:
        """Start another worker without adding it to `workers`."""
        return self.start_process("worker", "--concurrency", str(self.setup.slots), **more)

    def replace_worker(self, worker: ClusterProcess, **more: str) -> ClusterProcess:
        """Start a worker in place of one that has ended."""
        place = self.workers.index(worker)
        self.workers[place] = self.start_worker(**more)
        return self.workers[place]

    def fail_over_store(self) -> None:
        """Kill the PostgreSQL in use and promote its standby."""
        self.servers.fail_over()
        self.store = StoreReader(self.servers.postgres, self.servers.database)

    def leader(self) -> ClusterProcess:
        """Return the leading keeper; wait for one if necessary."""
        found: list[ClusterProcess] = []

        def leads() -> bool:
            pid = self.store.leader()[0]
            found[:] = [one for one in self.keepers if pid in one.pids()]
            return bool(found)

        wait_until(leads, "a keeper leads", READY_S)
        return found[0]

    def _kill_all(self) -> None:
        for process in self._processes:
            process.kill()

    # ------------------------------------------------------------------ commands and runs

    def run_command(
        self, *words: str, env: Mapping[str, str] | None = None, within_s: float = COMMAND_S
    ) -> CommandResult:
        """Run `smartspider WORDS` with the settings of the cluster."""
        folder = self.folder / "commands"
        folder.mkdir(exist_ok=True)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "smartspider", *words],
                cwd=folder,
                env={**os.environ, **self.environment(**(env or {}))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=within_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WaitTimeout(f"`smartspider {' '.join(words)}` did not end within {within_s:g} s") from None
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def checked_command(self, *words: str, within_s: float = COMMAND_S) -> CommandResult:
        """Run a command that must succeed."""
        answer = self.run_command(*words, within_s=within_s)
        if answer.code:
            raise WaitTimeout(
                f"`smartspider {' '.join(words)}` ended with {answer.code}: {answer.err.strip()[-600:]}"
            )
        return answer

    def apply_task(self, name: str = "chaos", **more: Any) -> None:
        """Save the task that crawls the site."""
        delay_s = self.setup.delay_s
        task = site_task(
            self.layout, self.site.port, name=name, delay_s=delay_s, **{**self.setup.task, **more}
        )
        path = self.folder / f"{name}.json"
        path.write_bytes(msgspec.json.encode(task))
        self.checked_command("task", "apply", str(path))

    def start_run(self, name: str = "chaos", **more: Any) -> int:
        """Save the task and start a run."""
        self.apply_task(name, **more)
        run_id = int(self.checked_command("run", "start", name, "--json").json["run_id"])
        self.run_id = self.run_id or run_id
        return run_id

    def get_run(self, run_id: int | None = None) -> RunRow:
        """Return the row of a run; wait while the store is unavailable."""
        found: list[RunRow] = []

        def has_answer() -> bool:
            line = self.store.run(run_id or self.run_id)
            found[:] = [line] if line else []
            return bool(found)

        wait_until(has_answer, f"the store contains run {run_id or self.run_id}", READY_S)
        return found[0]

    def wait_for_share(self, share: float, within_s: float = 60.0) -> None:
        """Wait until this share of the pages is stored."""
        wanted = int(share * self.setup.pages)

        def is_there() -> bool:
            if dead := self._logs_of_ended():
                raise WaitTimeout(dead)
            return self._done() >= wanted

        wait_until(is_there, f"{wanted} pages are stored", within_s)

    def wait_for_pages(self, pages: int, within_s: float = 60.0) -> None:
        """Wait until `pages` further pages are stored or the run has ended."""
        wanted = self._done() + pages
        wait_until(
            lambda: self._done() >= wanted or self.has_ended(), f"{pages} further pages are stored", within_s
        )

    def _done(self) -> int:
        line = self.store.run(self.run_id)
        return line.done if line else -1

    def has_ended(self, run_id: int | None = None) -> bool:
        """Return True if a run has ended."""
        line = self.store.run(run_id or self.run_id)
        return line is not None and line.state in OVER

    def wait_for_end(self, run_id: int | None = None) -> None:
        """Wait until a run has ended."""
        started_at = time.monotonic()
        try:
            wait_until(lambda: self.has_ended(run_id), "the run has ended", self.setup.timeout_s)
        except WaitTimeout:
            line, states = self.get_run(run_id), self.store.states(run_id or self.run_id)
            waited = time.monotonic() - started_at
            raise WaitTimeout(
                f"run {line.id} is {line.state} {waited:.0f} s later: {states}{self._logs_of_ended()}"
            ) from None

    def _logs_of_ended(self) -> str:
        dead = [one for one in (*self.workers, *self.keepers) if not one.is_running]
        return "".join(f"\n {one.name} exited unexpectedly:{log_tail(one)}" for one in dead)

    # ------------------------------------------------------------------ checks

    def count_refused(self, kind: str) -> int:
        """Return the number of calls of a kind (`stale`, `old_epoch`) that Redis counted as refused."""
        redis = self.servers.redis
        keys = redis.command("KEYS", "{smartspider:*:st")
        assert isinstance(keys, list)
        counts = [redis.command("HGET", key, kind) for key in keys]
        return sum(int(count) for count in counts if isinstance(count, bytes | str))

    def mark_fault(self) -> None:
        """Record that the fault begins now."""
        if self.fault_at is None:
            self.fault_at = time.monotonic()

    def check(self, holds: bool, problem: str) -> None:
        """Record a problem unless `holds`."""
        if not holds:
            self.problems.append(problem)
