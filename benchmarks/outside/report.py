"""Results of an outside suite: one line with the figure, then the failures."""

from __future__ import annotations

from typing import Any


class Results:
    """Collects the cases of a suite."""

    def __init__(self, suite: str) -> None:
        self._suite = suite
        self._count = 0
        self._failures: list[str] = []

    def add(self, name: str, expected: Any, actual: Any) -> None:
        """Count a case; it passes if both values are equal."""
        self._count += 1
        if expected != actual:
            self._failures.append(f"{name}: expected {expected!r}, got {actual!r}")

    def report(self, *, asked: float) -> int:
        """Print the figure and the failures; return the exit code, 1 below the share asked."""
        passed = self._count - len(self._failures)
        share = passed / self._count if self._count else 0.0
        print(f"{self._suite}: {passed} of {self._count} ({share:.1%}; asked {asked:.1%})")
        for failure in self._failures:
            print(f"  {failure}")
        return 0 if share >= asked else 1
