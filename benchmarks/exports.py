"""Exporting rows: CPU seconds and peak memory by format, and growth of memory with the rows.

python benchmarks/exports.py [--rows 1000000] [--formats parquet xlsx csv jsonl]

Rows of six fields are generated on the fly and go through the code of `crawl -o` and `results export`.
Each export is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from smartspider.core.items.columns import TableColumn
from smartspider.services.results.outputs import write_outputs
from smartspider.store.results.rows import StoredItem

BATCH = 2_000
COLUMNS = (
    TableColumn("url"),
    TableColumn("title"),
    TableColumn("price", "number"),
    TableColumn("stock", "integer"),
    TableColumn("seen", "datetime"),
    TableColumn("tags", "json"),
)


async def made(rows: int) -> AsyncIterator[Sequence[StoredItem]]:
    encode = msgspec.json.Encoder().encode
    for start in range(0, rows, BATCH):
        yield [
            StoredItem(
                number,
                1,
                "http://h/",
                encode(
                    {
                        "url": f"https://shop.example/products/{number}",
                        "title": f"Grüner Tee Nr. {number}, 茶 in a box of {number % 97}",
                        "price": number % 10_000 / 100,
                        "stock": number % 313,
                        "seen": f"2026-01-{number % 28 + 1:02d}T14:{number % 60:02d}:00+08:00",
                        "tags": ["tea", f"t{number % 1_000}"],
                    }
                ),
                0.0,
                1,
            )
            for number in range(start, min(start + BATCH, rows))
        ]


def export(suffix: str, rows: int) -> None:
    """Export in this process and print the figures as JSON."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder) / f"rows.{suffix}"
        started = time.process_time()
        written = asyncio.run(write_outputs(made(rows), [path], COLUMNS))
        seconds = time.process_time() - started
        assert written.rows == rows
        size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "size_mb": size}))


def measured(suffix: str, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", suffix, "--rows", str(rows)]
    figures: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", nargs="+", default=["parquet", "xlsx", "csv", "jsonl"])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        export(arguments.one, arguments.rows)
        return
    many = arguments.rows
    few = max(1, many // 10)
    print(f"| format | CPU s for {many:,} rows | file, MB | peak MB at {few:,} rows | at {many:,} |")
    print("|---|---|---|---|---|")
    for suffix in arguments.formats:
        small, large = measured(suffix, few), measured(suffix, many)
        cost = f"{large['seconds']:.1f} | {large['size_mb']:.0f}"
        print(f"| {suffix} | {cost} | {small['peak_mb']:.0f} | {large['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
