"""Run all or some benchmarks in turn and write their figures into docs/benchmarks.md.

python benchmarks/run.py [--pages 2000] [--rounds 3] [--only NAME ...]

The text of that page is written by hand and stays: see `report.py`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from report import check, fill

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent / "docs" / "benchmarks.md"


def output_of(script: str, *arguments: str) -> str:
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def said_by(script: str, *arguments: str) -> str:
    said = output_of(script, *arguments).strip()
    sys.stdout.write(said + "\n")
    return said


def table_of(script: str, *arguments: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.md"
        sys.stdout.write(output_of(script, *arguments, "--markdown", str(file)))
        return file.read_text(encoding="utf-8").strip()


def fenced(script: str) -> str:
    return f"```\n{said_by(script)}\n```"


def dated(figures: str) -> str:
    """Add the date and the load of the machine, which may be shared."""
    return f"{figures}\n\n{datetime.now(UTC).date()}, load average {os.getloadavg()[0]:.1f} at the end."


def jobs(pages: int, rounds: int) -> dict[str, Callable[[], str]]:
    """Return the measurement of each marker in the document."""
    compare = ("compare.py", "--pages", str(pages), "--rounds", str(rounds))
    return {
        "machine": lambda: f"Figures by `make bench`, {datetime.now(UTC).date()}: {machine()}.",
        "crawlers": lambda: f"{table_of(*compare)}\n\n{pages:,} pages, {rounds} rounds.",
        "frontier": lambda: table_of("frontier.py"),
        "extract": lambda: fenced("extract.py"),
        "xpath": lambda: fenced("xpath.py"),
        "steps": lambda: fenced("steps.py"),
        "exports": lambda: said_by("exports.py"),
        "server": lambda: said_by("server.py"),
        "consoles": lambda: said_by("consoles.py"),
        "lists": lambda: said_by("lists.py"),
        "scale": lambda: dated(said_by("backends/cluster.py", "--only", "scale")),
        "idle": lambda: dated(said_by("backends/cluster.py", "--only", "idle")),
        "paced": lambda: dated(said_by("paced.py")),
        "gates": lambda: dated(said_by("gates.py")),
        "completion": lambda: dated(said_by("completion.py")),
        "redis": lambda: dated(said_by("redis_frontier.py")),
        "postgres": lambda: dated(said_by("postgres_settle.py")),
    }


def machine() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = names[0].partition(":")[2].strip() if names else platform.machine()
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}, Linux, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="of the figures in the document"
    )
    options = parser.parse_args()
    asked = jobs(options.pages, options.rounds)
    unknown = set(options.only) - asked.keys()
    if unknown:
        parser.error(f"no figures are called {', '.join(sorted(unknown))}; there are {', '.join(asked)}")
    chosen = [name for name in asked if not options.only or name in options.only]
    check(REPORT.read_text(encoding="utf-8"), chosen)
    for name in chosen:
        told = asked[name]()
        # Written at once, so that a later failure loses no figures.
        REPORT.write_text(fill(REPORT.read_text(encoding="utf-8"), {name: told}), encoding="utf-8")
    print(f"written to {REPORT.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
