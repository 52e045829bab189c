"""Run the suite in stages, and what failed once more, alone, at the end: `run_tests.py [PATH ...]`.

A test that passes then is flaky: it is listed, and more than `MAX_FLAKY` of them make the run red. A run that
a test ended, or that did not come to its end, is red at once.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from smartspider_testing.servers import process_stats
from smartspider_testing.suite.outcome import Outcome, read_outcome

STAGES = {
    "unit, contracts, simulation": ("-q", "-m", "not soak and not acceptance"),
    "real processes": ("--dist", "loadgroup", "-m", "acceptance and not soak and not timed and not alone"),
    "real processes that measure time": ("-m", "timed and not soak and not alone"),
    "real processes, one at a time": ("-n", "0", "-m", "alone and not soak"),
}
SLOWEST = ("--durations", "40", "--durations-min", "3")
"""Each stage lists what takes longest."""
MAX_FLAKY = 2
NOTHING_COLLECTED = 5
"""Exit code of pytest when a stage has none of the tests that were named."""
MAX_REPEATED = 20
"""With more failures than this something is broken, and nothing is repeated."""
PR_SET_CHILD_SUBREAPER = 36


def main(arguments: list[str]) -> int:
    """Run all stages. Return 0 if every test passed, at the latest when it ran alone."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--at-once", default="3", help="processes that run tests (3)")
    parser.add_argument("paths", nargs="*", help="run these tests only")
    options = parser.parse_args(arguments)
    began_at = time.monotonic()
    adopt_orphans()
    failed: list[str] = []
    passed = 0
    for name, words in STAGES.items():
        outcome = run_pytest(name, "-n", options.at_once, *SLOWEST, *words, *options.paths)
        if outcome is None or outcome.crashed:
            print(f"\nred: the stage ({name}) did not come to its end")
            return 1
        failed += outcome.failed
        passed += outcome.passed
    flaky: list[str] = []
    if 0 < len(failed) <= MAX_REPEATED:
        again = run_pytest("once more, alone", "-n", "0", *failed)
        if again is not None and not again.crashed:
            flaky = [test for test in failed if test not in again.failed]
    return report(passed, failed, flaky, time.monotonic() - began_at)


def run_pytest(name: str, *words: str) -> Outcome | None:
    """Run pytest and end whatever it leaves behind. Return None if it did not come to its end."""
    print(f"\n== pytest ({name}) ==", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcome.json"
        command = [sys.executable, "-m", "pytest", "-p", "smartspider_testing.suite.outcome"]
        process = subprocess.Popen([*command, "--outcome", str(path), *words])
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
        finally:
            end_orphans()
        return read_outcome(path) if code in (0, 1, NOTHING_COLLECTED) else None


def report(passed: int, failed: list[str], flaky: list[str], took_s: float) -> int:
    """Print the result of all stages; return the exit code."""
    broken = sorted(set(failed) - set(flaky))
    if flaky:
        print("\n== flaky: failed beside other tests, passed alone ==")
        print(*sorted(flaky), sep="\n")
    if broken:
        print("\n== failed ==")
        print(*broken, sep="\n")
    is_green = not broken and len(flaky) <= MAX_FLAKY
    counts = [f"{passed + len(flaky)} passed"]
    counts += [f"{len(flaky)} flaky (at most {MAX_FLAKY})"] if flaky else []
    counts += [f"{len(broken)} failed"] if broken else []
    print(f"\n{'green' if is_green else 'red'}: {', '.join(counts)} in {took_s:.0f} s", flush=True)
    return 0 if is_green else 1


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent ends before them, so that they can be found."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """End all processes below this one; there are none after a run that came to its end."""
    while found := process_stats.children(os.getpid()):
        for pid in found:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
