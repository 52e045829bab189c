"""CPU, memory and state of processes, from the kernel."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and its ended children; 0 if it is gone."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def family_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and all its children, live and ended."""
    # The parent first: a child that ends in between is missed rather than counted twice.
    return cpu_s(pid) + sum(cpu_s(child) for child in children(pid))


def memory_bytes(pid: int) -> int:
    """Return the proportional memory (PSS) of a process; 0 if it is gone."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def children(pid: int) -> list[int]:
    """Return the live children of a process."""
    every = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())
    return [one for one in every if (fields := _stat(one)) and int(fields[1]) == pid]


def is_alive(pid: int) -> bool:
    """Return True if the process runs or is stopped; a zombie does not count."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in {"Z", "X"}


def is_stopped(pid: int) -> bool:
    """Return True if the process is stopped."""
    return _stat(pid)[:1] == ["T"]


def _stat(pid: int) -> list[str]:
    """Return the fields after the name: state, parent, ...; empty if there is no such process."""
    try:
        line = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return line.rpartition(")")[2].split()
