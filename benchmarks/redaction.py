"""Cost of redaction: adding a secret, and a log line, with 50,000 known secrets and with none.

.venv/bin/python -m benchmarks.redaction
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from smartspider.core.events import FetchRetried
from smartspider.core.redaction.redactor import Redactor
from smartspider.telemetry.subscribers import line_of

KNOWN = 50_000
ROUNDS = 7
LINES = 2_000
URL = "https://shop.example.com/catalogue/category/books/page-17.html?sort=price"
EVENT = FetchRetried(3, "shop.example.com", URL, "http 503: Service Unavailable", 2, 3.2)
KINDS: dict[str, Callable[[int], str]] = {
    "tokens of 43 characters": lambda _number: secrets.token_urlsafe(32),
    "hexadecimal, 40 characters": lambda _number: secrets.token_hex(20),
    "passwords of 10 characters": lambda _number: secrets.token_hex(5),
    "`secret-00042`": lambda number: f"secret-{number:05}",
}


def line_us(redactor: Redactor) -> float:
    """Return the CPU time of a log line in microseconds."""
    begun = time.process_time()
    for _ in range(LINES):
        line_of(EVENT, 1.0, "worker", redactor)
    return (time.process_time() - begun) / LINES * 1e6


def main() -> None:
    """Print a row for each kind of secret."""
    none = Redactor()
    for kind, make in KINDS.items():
        known, values = Redactor(), [make(number) for number in range(KNOWN)]
        begun = time.process_time()
        for value in values:
            known.add(value)
        added_ms = (time.process_time() - begun) / KNOWN * 1e3
        pairs = [(line_us(none), line_us(known)) for _ in range(ROUNDS)]  # interleaved
        empty_us, full_us = (min(times) for times in zip(*pairs, strict=True))
        print(
            f"{kind}: {added_ms:.3f} ms to add one; a line {empty_us:.1f} us with none, {full_us:.1f} us"
            f" with {KNOWN:,} ({full_us / empty_us:.2f}x)"
        )


if __name__ == "__main__":
    main()
