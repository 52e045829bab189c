"""The throw-away cluster of one fault: servers, processes, the site, and the runs on it."""

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

from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.site import Layout
from smartspider_testing.chaos.site_client import SiteClient, site_running
from smartspider_testing.chaos.staff import ADMIN_TOKEN, Member, Overdue, tail_of, until
from smartspider_testing.chaos.task import site_task
from smartspider_testing.chaos.truth import RunLine, Truth
from smartspider_testing.chaos.yard import Yard

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


class Said(msgspec.Struct, frozen=True):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON value it printed."""
        return msgspec.json.decode(self.out)


class Scene:
    """Everything a fault can break, and the questions it waits on."""

    def __init__(self, folder: Path, setup: Setup, template: Path) -> None:
        self.folder = folder
        self.setup = setup
        self.layout = Layout(
            pages=setup.pages,
            hosts=setup.hosts,
            has_twins=setup.has_twins,
            is_wide=setup.is_wide,
            with_nul=setup.with_nul,
        )
        self.yard = Yard(folder / "servers", setup, template)
        self.workers: list[Member] = []
        self.keepers: list[Member] = []
        self.run_id = 0
        self.fault_at: float | None = None
        """When it broke, by the machine's monotonic clock."""
        self.allowed_extra: int | None = None
        """Fetches beyond one of each page that the fault explains; None: any number."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._members: list[Member] = []
        self._open = ExitStack()
        self.site: SiteClient
        self.truth: Truth

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            opening.enter_context(self.yard)
            self.site = opening.enter_context(site_running(self.layout))
            self.site.behave(latency_s=self.setup.latency_s)
            self.truth = Truth(self.yard.postgres, self.yard.database)
            opening.callback(self._dismiss)
            self.keepers += [self.hire("keeper") for _ in range(self.setup.keepers)]
            self.workers += [self.hire_worker() for _ in range(self.setup.workers)]
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    # ------------------------------------------------------------------ processes

    def environment(self, **more: str) -> dict[str, str]:
        """The settings that processes of this cluster are started with."""
        return {
            **SETTINGS,
            "HOME": str(self.folder),
            "SMARTSPIDER_STORE_URL": self.yard.store_url,
            "SMARTSPIDER_FRONTIER_URL": self.yard.frontier_url,
            **self.setup.environment,
            **more,
        }

    def hire(self, role: str, *words: str, **more: str) -> Member:
        """Start another process of the cluster."""
        name = f"{role}-{len(self._members)}"
        member = Member(name, [role, *words], self.folder / name, self.environment(**more))
        member.start()
        self._members.append(member)
        return member

    def hire_worker(self, **more: str) -> Member:
        """Start another worker; it is not one of `workers` yet."""
        return self.hire("worker", "--concurrency", str(self.setup.slots), **more)

    def replace(self, worker: Member, **more: str) -> Member:
        """A new worker in the place of one that is gone."""
        place = self.workers.index(worker)
        self.workers[place] = self.hire_worker(**more)
        return self.workers[place]

    def fail_over_store(self) -> None:
        """Another PostgreSQL takes the place of the one that is there, for everybody."""
        self.yard.fail_over()
        self.truth = Truth(self.yard.postgres, self.yard.database)

    def leader(self) -> Member:
        """The keeper that leads."""
        found: list[Member] = []

        def leads() -> bool:
            pid = self.truth.leader()[0]
            found[:] = [one for one in self.keepers if pid in one.family()]
            return bool(found)

        until(leads, "a keeper leads", READY_S)
        return found[0]

    def _dismiss(self) -> None:
        for member in self._members:
            member.kill()

    # ------------------------------------------------------------------ commands and runs

    def command(self, *words: str, env: Mapping[str, str] | None = None, within_s: float = COMMAND_S) -> Said:
        """`smartspider WORDS` with the settings of the cluster, to its end."""
        desk = self.folder / "desk"
        desk.mkdir(exist_ok=True)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "smartspider", *words],
                cwd=desk,
                env={**os.environ, **self.environment(**(env or {}))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=within_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Overdue(f"`smartspider {' '.join(words)}` did not end within {within_s:g} s") from None
        return Said(done.returncode, done.stdout, done.stderr)

    def must(self, *words: str, within_s: float = COMMAND_S) -> Said:
        """The same, for a command that has to succeed."""
        said = self.command(*words, within_s=within_s)
        if said.code:
            raise Overdue(
                f"`smartspider {' '.join(words)}` ended with {said.code}: {said.err.strip()[-600:]}"
            )
        return said

    def keep_task(self, name: str = "chaos", **more: Any) -> None:
        """Put the task of the site into the store."""
        delay_s = self.setup.delay_s
        task = site_task(
            self.layout, self.site.port, name=name, delay_s=delay_s, **{**self.setup.task, **more}
        )
        path = self.folder / f"{name}.json"
        path.write_bytes(msgspec.json.encode(task))
        self.must("task", "apply", str(path))

    def begin(self, name: str = "chaos", **more: Any) -> int:
        """Keep the task and start a run of it."""
        self.keep_task(name, **more)
        run_id = int(self.must("run", "start", name, "--json").json["run_id"])
        self.run_id = self.run_id or run_id
        return run_id

    def run(self, run_id: int | None = None) -> RunLine:
        """The run; waits while the store does not answer."""
        found: list[RunLine] = []

        def has_answer() -> bool:
            line = self.truth.run(run_id or self.run_id)
            found[:] = [line] if line else []
            return bool(found)

        until(has_answer, f"the store tells of run {run_id or self.run_id}", READY_S)
        return found[0]

    def until_share(self, share: float, within_s: float = 60.0) -> None:
        """Wait until this share of the known pages is stored."""
        wanted = int(share * self.setup.pages)

        def is_there() -> bool:
            if dead := self._tails_of_the_dead():
                raise Overdue(dead)
            return self._done() >= wanted

        until(is_there, f"{wanted} pages are stored", within_s)

    def until_more(self, pages: int, within_s: float = 60.0) -> None:
        """Wait until so many further pages are stored, or the run is over."""
        wanted = self._done() + pages
        until(lambda: self._done() >= wanted or self.is_over(), f"{pages} further pages are stored", within_s)

    def _done(self) -> int:
        line = self.truth.run(self.run_id)
        return line.done if line else -1

    def is_over(self, run_id: int | None = None) -> bool:
        """Whether a run has ended."""
        line = self.truth.run(run_id or self.run_id)
        return line is not None and line.state in OVER

    def until_over(self, run_id: int | None = None) -> None:
        """Wait for the end of a run."""
        started_at = time.monotonic()
        try:
            until(lambda: self.is_over(run_id), "the run is over", self.setup.patience_s)
        except Overdue:
            line, states = self.run(run_id), self.truth.states(run_id or self.run_id)
            waited = time.monotonic() - started_at
            raise Overdue(
                f"run {line.id} is {line.state} {waited:.0f} s later: {states}{self._tails_of_the_dead()}"
            ) from None

    def _tails_of_the_dead(self) -> str:
        dead = [one for one in (*self.workers, *self.keepers) if not one.is_running]
        return "".join(f"\n {one.name} ended by itself:{tail_of(one)}" for one in dead)

    # ------------------------------------------------------------------ what is seen

    def refused(self, kind: str) -> int:
        """How many calls of a kind (`stale`, `old_epoch`) the frontier's Redis refused, by its own count."""
        redis = self.yard.redis
        keys = redis.command("KEYS", "{smartspider:*:st")
        assert isinstance(keys, list)
        counts = [redis.command("HGET", key, kind) for key in keys]
        return sum(int(count) for count in counts if isinstance(count, bytes | str))

    def breaks(self) -> None:
        """The fault begins now."""
        if self.fault_at is None:
            self.fault_at = time.monotonic()

    def check(self, holds: bool, problem: str) -> None:
        """Note a problem unless it holds."""
        if not holds:
            self.problems.append(problem)
