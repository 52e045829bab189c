"""All benchmarks, one after the other, written to docs/benchmarks.md with machine and date.

python benchmarks/run.py [--pages 2000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent / "docs" / "benchmarks.md"

TEXT = """# Benchmarks

Written by `make bench` on {date}.
{machine}. CPU time is user plus system time of the whole process,
start-up included. Identical quiet runs differ by up to 40 % on a shared machine, so crawlers run
interleaved and the medians are compared; the ratios are what to trust.

## The same complete job by every crawler

{pages} pages of about 23 KB, each with 20 items of 5 fields and 35 links: follow links, drop duplicates,
take the fields by CSS, write JSONL. 64 requests at a time, one core, {rounds} rounds; robots and delays off
for all. Every crawler found exactly the site's items. SmartSpider keeps every page and item in a durable
store on the way; the bare loop (aiohttp and Lexbor, nothing kept) is the floor, not a crawler.

{crawlers}

`python benchmarks/compare.py`; how the peers are set up is in `benchmarks/crawlers/`.

## The frontier as it grows

One run with so many pending URLs on 1,000 hosts, in SQLite. CPU per URL for inserting a new one, for
meeting a known one, and for the whole way of a page: lease, settle with one item and one new child.

{frontier}

`python benchmarks/frontier.py`.

## Reading a page

{extract}

`python benchmarks/extract.py`: CPU time of parsing and reading one page of the job above.

{xpath}

`python benchmarks/xpath.py`: 20 fields by XPath on the same page, ours and parsel's in turns.

## Steps

CPU µs; `known` values are served from the cache of a step.

{steps}

`python benchmarks/steps.py`.

## Writing rows

{exports}

`python benchmarks/exports.py`: each export in a process of its own; the rows are made on the way.

## A server under many eyes

A server crawls the site above at a steady rate, in turns alone and with 200 clients that ask for its status
once a second and 50 that watch it over WebSockets; every other watcher breaks off in the middle and comes
back where it was. Each checks that the events it gets are numbered 1, 2, 3, ... to the end.

{server}

`python benchmarks/server.py`.

## Lists as the data grows

CPU of the API for a call, on a folder with 1,000 tasks, pages, rows and log lines, and on one with 10,000
tasks and a million of the others.

{lists}

`python benchmarks/lists.py`.

## The cluster

Real processes on a Redis and a PostgreSQL of their own, all on this one machine; load average {load} when
they began.

### What workers add

A site with 100 ms latency on 16 hosts, no delay, small pages, 4 requests at a time in each worker; between
the first fifth and the last of a crawl, medians of one worker and eight in turns.

{scale}

`python benchmarks/cluster.py --only scale`.

### With nothing to do

{idle}

`python benchmarks/cluster.py --only idle`.

### Gates and shares

{gates}

Measured at the site: `python benchmarks/gates.py`.

### Whether a run is complete

{completion}

`python benchmarks/completion.py`.

### What a URL costs Redis

```
{redis}
```

`python benchmarks/redis_frontier.py`: CPU µs of the server per URL, and bytes of a pending one.

### What a page costs PostgreSQL

```
{postgres}
```

`python benchmarks/postgres_settle.py`: CPU µs a page with 35 links of which 2 are new, in groups of 64;
without items and with 20.
"""


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


def cluster() -> dict[str, str]:
    """The figures of the cluster, by their places in the text."""
    return {
        "load": f"{os.getloadavg()[0]:.1f}",
        "scale": said_by("cluster.py", "--only", "scale"),
        "idle": said_by("cluster.py", "--only", "idle"),
        "gates": said_by("gates.py"),
        "completion": said_by("completion.py"),
        "redis": said_by("redis_frontier.py"),
        "postgres": said_by("postgres_settle.py"),
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
    options = parser.parse_args()
    crawlers = table_of("compare.py", "--pages", str(options.pages), "--rounds", str(options.rounds))
    frontier = table_of("frontier.py")
    plain = {name: said_by(f"{name}.py") for name in ("extract", "xpath", "steps")}
    exports = said_by("exports.py")
    report = TEXT.format(
        date=datetime.now(UTC).date(),
        machine=machine(),
        pages=f"{options.pages:,}",
        rounds=options.rounds,
        crawlers=crawlers,
        frontier=frontier,
        exports=exports,
        server=said_by("server.py"),
        lists=said_by("lists.py"),
        **cluster(),
        **{name: f"```\n{said}\n```" for name, said in plain.items()},
    )
    REPORT.write_text(report, encoding="utf-8")
    print(f"written to {REPORT.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
