"""The product as its users run it: commands as processes, in a folder of their own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from smartspider.demo.process import site_process
from smartspider_testing.sites.http_server import ReceivedRequest
from smartspider_testing.suite.fork_server import can_fork, fork_server
from smartspider_testing.waiting import WAIT_S

SUMMARY_KEYS = [
    *("run_id", "state", "reason", "pages", "items", "failed", "missing", "duplicates", "rejected"),
    *("duration_s", "outputs", "seen", "redirects", "open", "left_out_count", "left_out"),
    *("missing_entries", "missing_entry_count", "empty_fields", "lost_next_pages"),
    *(
        "lost_next_page_count",
        "lost_count",
        "unmatched",
        "gaps",
        "undecodable",
        "missing_files",
        "missing_file_count",
        "files",
    ),
]
"""The keys that `--json` prints after a crawl."""


def until(is_true: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    """Wait for a condition; fail with its name when it does not come true."""
    give_up_at = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < give_up_at, f"waited {timeout_s:g} s in vain: {what}"
        time.sleep(0.01)


class Finished(msgspec.Struct, frozen=True):
    """A command that has ended. `code` is negative when a signal ended it."""

    code: int
    out: str
    err: str
    peak_mb: float

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    def expect(self, code: int) -> Finished:
        """The same, if it ended with this code."""
        assert self.code == code, f"exit code {self.code} instead of {code}\n{self.err}\n{self.out}"
        return self


class Command:
    """`python ARGUMENTS`, running. Modules come from a process that has imported them already."""

    def __init__(
        self, arguments: list[str], folder: Path, environment: Mapping[str, str], log: Path, stdin: str = ""
    ) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        self._process: subprocess.Popen[bytes] | None = None
        given = log.with_suffix(".in")
        given.write_text(stdin, encoding="utf-8")
        with self._out.open("wb") as out, self._err.open("wb") as err, given.open("rb") as read:
            if arguments[0] == "-m" and can_fork(environment):
                streams = read.fileno(), out.fileno(), err.fileno()
                self._counted_from_kb = 0
                self.pid = fork_server().start(
                    *(arguments[1], arguments[2:]), folder=folder, environment=environment, streams=streams
                )
            else:
                self._counted_from_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                self._process = subprocess.Popen(
                    [sys.executable, *arguments],
                    cwd=folder,
                    env=dict(environment),
                    stdin=read,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
                self.pid = self._process.pid
        self._seen_kb = 0
        self._finished: Finished | None = None

    @property
    def err(self) -> str:
        """Its standard error so far."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    @property
    def out(self) -> bytes:
        """Its standard output so far."""
        return self._out.read_bytes()

    def workers(self) -> list[int]:
        """Its worker processes, oldest first."""
        return [pid for pid in children_of(self.pid) if b"worker_process" in _command_line(pid)]

    def signal(self, number: int) -> None:
        """Send a signal to the process alone."""
        if self._finished is None:
            os.kill(self.pid, number)

    def kill(self) -> Finished:
        """`kill -9`, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        return self.wait()

    def has_ended(self) -> bool:
        """Return True if it has ended."""
        if self._finished is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                if self._process is not None:
                    self._process.returncode = code
                out = self._out.read_text(encoding="utf-8", errors="replace")
                self._finished = Finished(code, out, self.err, self._peak_kb(usage.ru_maxrss) / 1024)
            else:
                self._seen_kb = max(self._seen_kb, _peak_of(self.pid))
        return self._finished is not None

    def _peak_kb(self, counted: int) -> int:
        """Its peak memory. If it was not forked, the kernel counts the peak of the process that started it,
        too: below that, only what was seen while it ran says how much it was.
        """
        return counted if counted > self._counted_from_kb else self._seen_kb

    def wait(self, timeout_s: float = WAIT_S) -> Finished:
        """Wait for its end."""
        try:
            until(self.has_ended, f"the end of the command\n{self.err}", timeout_s)
        except AssertionError:
            os.kill(self.pid, signal.SIGKILL)
            raise
        assert self._finished is not None
        return self._finished


def _peak_of(pid: int) -> int:
    """The peak memory of a process since it began to run its program, in KB; 0 if it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


class Workshop:
    """A working folder with an empty home, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs = folder.parent / f"{folder.name}.logs"
        self._commands: list[Command] = []
        home = folder.parent / f"{folder.name}.home"
        for each in (folder, self.logs, home):
            each.mkdir()
        self._environment = {"HOME": str(home), "LANG": "C.UTF-8"}
        if "PYTHONPATH" in os.environ:  # a changed copy of the product is under test
            self._environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def write(self, document: object, name: str = "task.json") -> Path:
        """A JSON file in the working folder."""
        path = self.folder / name
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        return path

    def start(self, *arguments: object, env: Mapping[str, str] | None = None, stdin: str = "") -> Command:
        """`smartspider ARGUMENTS`, in the background; `stdin` is all it can read."""
        return self.start_python("-m", "smartspider", *arguments, env=env, stdin=stdin)

    def start_python(
        self, *arguments: object, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Command:
        """`python ARGUMENTS`, in the background."""
        command = Command(
            [*map(str, arguments)],
            self.folder,
            {**self._environment, **(env or {})},
            self.logs / str(len(self._commands)),
            stdin,
        )
        self._commands.append(command)
        return command

    def run(self, *arguments: object, env: Mapping[str, str] | None = None, stdin: str = "") -> Finished:
        """`smartspider ARGUMENTS`, until it ends."""
        return self.start(*arguments, env=env, stdin=stdin).wait()

    def crawl(self, *arguments: object, env: Mapping[str, str] | None = None) -> Finished:
        """`smartspider crawl task.json --json ARGUMENTS`, until it ends."""
        return self.run("crawl", "task.json", "--json", *arguments, env=env)

    def rows(self, name: str = "rows.jsonl") -> list[dict[str, Any]]:
        """The rows of an output."""
        text = (self.folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def why(self, url: str, *arguments: object) -> dict[str, Any]:
        """Return the output of `why URL --json`."""
        answer: dict[str, Any] = self.run("why", url, "--json", *arguments).expect(0).json
        return answer

    def files(self) -> list[str]:
        """All files below the working folder."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """End whatever still runs."""
        for command in self._commands:
            if not command.has_ended():
                for pid in [command.pid, *children_of(command.pid)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                command.wait()


class Site:
    """A site in a process of its own."""

    def __init__(self, url: str) -> None:
        self.base = url.rstrip("/")
        self.authority = urlsplit(url).netloc
        self.port = urlsplit(url).port or 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def ask(self, path: str) -> Any:
        """Return what the site reports about itself, as JSON."""
        connection = http.client.HTTPConnection(self.authority, timeout=WAIT_S)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def log(self) -> list[ReceivedRequest]:
        """Every request that reached a written site, in order."""
        return [msgspec.convert(each, ReceivedRequest) for each in self.ask("/_log")]

    def paths(self) -> list[str]:
        """The paths of these requests."""
        return [arrival.path for arrival in self.log()]

    def fetches(self) -> int:
        """Return the number of pages that a graph has served."""
        return int(self.ask("/_stats")["total"])


@contextmanager
def written_site(folder: Path, **spec: Any) -> Iterator[Site]:
    """A site from its written form (`routes`, `prefixes`, `hosts`)."""
    path = folder / f"site-{time.monotonic_ns()}.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    with site_process("smartspider_testing.sites.scripted", str(path)) as url:
        yield Site(url)


@contextmanager
def graph_site(pages: int, seed: int = 1, delay_ms: float = 0.0) -> Iterator[Site]:
    """A graph whose pages change at every fetch."""
    options = ("--pages", str(pages), "--seed", str(seed), "--delay-ms", str(delay_ms))
    with site_process("smartspider_testing.sites.graph", *options) as url:
        yield Site(url)


def html(title: str, links: list[str] | None = None, extra: str = "") -> dict[str, Any]:
    """A plain page with a title, links of class `child`, and more."""
    anchors = "".join(f'<a class="child" href="{link}">{link}</a>\n' for link in links or [])
    return {"body": f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1>{extra}{anchors}"}


def linked(paths: Mapping[str, list[str]]) -> dict[str, list[dict[str, Any]]]:
    """Routes of plain pages that link to each other; the title of each is its path."""
    return {path: [html(path, links)] for path, links in paths.items()}


def title_task(*entries: str, **more: Any) -> dict[str, Any]:
    """A task that takes the title of every page and follows the links, as fast as it can."""
    return {
        "name": "titles",
        "entry_urls": list(entries),
        "selectors": {"fields": {"title": "h1::text", "url": {"type": "meta", "expr": "url"}}},
        "follow": [{"selector": "a.child"}],
        "politeness": {"robots": "ignore", "delay_s": 0, "adaptive": False},
        "retry": {"backoff_s": 0},
        **more,
    }


def children_of(pid: int) -> list[int]:
    """Processes whose parent is `pid`, oldest first."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append((int(fields[19]), int(stat.parent.name)))
    return [number for _, number in sorted(found)]


def is_running(pid: int) -> bool:
    """Return True if a process is alive and not a zombie."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _command_line(pid: int) -> bytes:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def greeted(command: Command) -> dict[str, object]:
    """Return the greeting of a role once it runs."""
    until(lambda: command.has_ended() or b"\n" in command.out, f"a greeting\n{command.err}")
    assert not command.has_ended(), command.err
    told: dict[str, object] = json.loads(command.out.splitlines()[0])
    return told
