"""Compare crawlers on the same complete job: follow links, drop duplicates, take 20 x 5 fields, write JSONL.

Crawlers run one after the other on one core, the server on another, in interleaved rounds. CPU time is user
plus system time of the whole process tree, start-up included. Every crawler must find exactly the site's
items.

    python benchmarks/compare.py --pages 1000 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import bench_site
from crawlers import ours

HERE = Path(__file__).resolve().parent
PEER_PYTHON = HERE.parent / ".venv-bench" / "bin" / "python"
OURS = "smartspider crawl"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are cached for all crawlers, as usual."""


@dataclass(frozen=True)
class Job:
    """One crawl in an empty folder of its own."""

    entry: str
    folder: Path
    concurrency: int

    @property
    def output(self) -> Path:
        return self.folder / "items.jsonl"


@dataclass(frozen=True)
class Outcome:
    cpu_s: float
    wall_s: float
    peak_mb: float
    items: set[tuple[str, ...]]
    rows: int


@dataclass
class Contender:
    """A crawler: its command for a job, and its result in each round."""

    name: str
    command: Callable[[Job], list[str]]
    outcomes: list[Outcome] = field(default_factory=list)

    def cpu_ms_per_page(self, pages: int) -> float:
        return median(outcome.cpu_s for outcome in self.outcomes) * 1000.0 / pages

    def spread(self) -> tuple[float, float]:
        """The best and the worst round, relative to the median."""
        middle = median(outcome.cpu_s for outcome in self.outcomes)
        return (
            min(outcome.cpu_s for outcome in self.outcomes) / middle,
            max(outcome.cpu_s for outcome in self.outcomes) / middle,
        )


def _script(python: str | Path, name: str, *flags: str) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        filled = [flag.format(folder=job.folder) for flag in flags]
        script = str(HERE / "crawlers" / name)
        return [
            str(python),
            script,
            job.entry,
            str(job.output),
            "--concurrency",
            str(job.concurrency),
            *filled,
        ]

    return command


def _ours(job: Job) -> list[str]:
    task = job.folder / "task.json"
    task.write_text(json.dumps(ours.task(job.entry, bench_site.FIELDS, job.concurrency)))
    crawl = [sys.executable, "-m", "smartspider", "crawl", str(task)]
    return [*crawl, "-o", str(job.output), "--data", str(job.folder / "data"), "--json"]


def contenders(peer_python: Path) -> list[Contender]:
    """All crawlers that can be run."""
    return [
        Contender(OURS, _ours),
        Contender("aiohttp + Lexbor, bare", _script(sys.executable, "bare.py")),
        Contender("Crawlee HttpCrawler + parsel, memory", _script(peer_python, "crawlee_http.py")),
        Contender(
            "Scrapy, rows past the pipeline", _script(peer_python, "scrapy_project.py", "--past-pipeline")
        ),
        Contender("Scrapy", _script(peer_python, "scrapy_project.py")),
        Contender("Scrapy with JOBDIR", _script(peer_python, "scrapy_project.py", "--jobdir={folder}/job")),
    ]


@contextmanager
def site_running(pages: int, core: int, hosts: int = 1) -> Iterator[str]:
    """Run the server on its core and yield its base URL."""
    command = [sys.executable, str(HERE / "bench_site.py"), "--pages", str(pages), "--hosts", str(hosts)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509 - no threads here
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().removeprefix("listening on ").strip()
        process.stdin.close()


def run(contender: Contender, entry: str, concurrency: int, core: int) -> Outcome:
    """One crawl, measured from outside."""
    with tempfile.TemporaryDirectory(prefix="smartspider-bench-") as folder:
        job = Job(entry, Path(folder), concurrency)
        command = contender.command(job)
        log = job.folder / "log.txt"
        started_at = time.monotonic()
        with log.open("wb") as talk:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=talk,
                stderr=talk,
                cwd=folder,
                env=ENVIRONMENT,
                preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509 - no threads here
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - started_at
        if process.returncode != 0:
            raise SystemExit(f"{contender.name} failed with {process.returncode}:\n{log.read_text()[-3000:]}")
        rows = [json.loads(line) for line in job.output.read_text(encoding="utf-8").splitlines()]
        items = {tuple(row[name] for name in bench_site.FIELDS) for row in rows}
        return Outcome(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024.0, items, len(rows))


def table(entries: list[Contender], pages: int) -> list[tuple[str, ...]]:
    """The figures as rows of text, the cheapest crawler first."""
    reference = next((each for each in entries if each.name == OURS), None)
    lines: list[tuple[str, ...]] = [("crawler", "CPU ms/page", "of ours", "rounds", "wall s", "peak MB")]
    for each in sorted(entries, key=lambda each: each.cpu_ms_per_page(pages)):
        cost = each.cpu_ms_per_page(pages)
        ratio = f"{cost / reference.cpu_ms_per_page(pages):.2f} x" if reference else "-"
        low, high = each.spread()
        wall = median(outcome.wall_s for outcome in each.outcomes)
        peak = median(outcome.peak_mb for outcome in each.outcomes)
        rounds = f"{len(each.outcomes)} ({low - 1:+.0%} {high - 1:+.0%})"
        lines.append((each.name, f"{cost:.2f}", ratio, rounds, f"{wall:.2f}", f"{peak:.0f}"))
    return lines


def as_text(lines: list[tuple[str, ...]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )


def as_markdown(lines: list[tuple[str, ...]]) -> str:
    head, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rest])


def check(contender: Contender, outcome: Outcome, expected: set[tuple[str, ...]]) -> None:
    """Raise if a crawler's items differ from those of the site."""
    if outcome.items != expected or outcome.rows != len(expected):
        lost, strange = len(expected - outcome.items), len(outcome.items - expected)
        raise SystemExit(
            f"{contender.name} did not do the job: {outcome.rows} rows, {lost} items lost, {strange} unknown"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--only", action="append", help="part of a crawler's name; may be repeated")
    parser.add_argument(
        "--without", action="append", default=[], help="part of a crawler's name to leave out"
    )
    parser.add_argument(
        "--peer-python", type=Path, default=PEER_PYTHON, help="a Python with scrapy and crawlee"
    )
    parser.add_argument("--markdown", type=Path, help="write the table there, too")
    options = parser.parse_args()
    crawler_core, server_core = sorted(os.sched_getaffinity(0))[:2]
    entries = [
        each
        for each in contenders(options.peer_python)
        if (options.only is None or any(part in each.name for part in options.only))
        and not any(part in each.name for part in options.without)
    ]
    expected = bench_site.expected_items(options.pages)
    with site_running(20, server_core) as base_url:
        for each in entries:  # once unmeasured, to compile modules and fill the disk cache
            run(each, bench_site.entry(base_url), options.concurrency, crawler_core)
    with site_running(options.pages, server_core) as base_url:
        for number in range(options.rounds):
            for each in entries:
                outcome = run(each, bench_site.entry(base_url), options.concurrency, crawler_core)
                check(each, outcome, expected)
                each.outcomes.append(outcome)
                print(
                    f"round {number + 1}: {each.name}: {outcome.cpu_s:.2f} CPU-s", file=sys.stderr, flush=True
                )
    lines = table(entries, options.pages)
    print(
        f"{options.pages} pages, {len(expected)} items, {options.concurrency} at a time\n\n{as_text(lines)}\n"
    )
    print(as_markdown(lines))
    if options.markdown:
        options.markdown.write_text(as_markdown(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
