"""The activity of this process: what its event loop is doing, in memory that it shares with its supervisor.

A process has one event loop, so it has one record, which this module holds. Code in C may hold the
interpreter lock for minutes, so the reader is another process: the record is shared memory, and writing it
costs less than a microsecond.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from mmap import mmap
from time import monotonic

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.runs.run import first_id

NONE, LAYERS, PARSE, EXTRACT, STEPS, LINKS, STORE, COMPILE = range(8)
STAGES = ("", "layers", "parse", "extract", "steps", "links", "store", "compile")
"""Names of the stages. `store` is a transaction in a data folder, `compile` belongs to a run, and the others
but the first to a request. `layers` stands for one of the task.
"""

_HEAD = struct.Struct("<dQ")
_REQUEST = struct.Struct("<dQQQIIBBB")
_REQUEST_AT = _HEAD.size
_LAYER_AT = _HEAD.size + _REQUEST.size - 1
_STAGE_AT = _LAYER_AT - 1
_HELD = struct.Struct("<8Q")
_HELD_AT = _HEAD.size + _REQUEST.size
MAX_HELD = 8
"""Runs that a supervisor can hold at a time."""
_FINISHED_AT = _HELD_AT + _HELD.size
SIZE = _FINISHED_AT + 1
_NOTHING_HELD = bytes(8)

_memory: bytearray | mmap = bytearray(SIZE)


class ActivityRecord(msgspec.Struct, frozen=True, gc=False):
    """The activity of a process as its supervisor reads it."""

    ticked_at: float
    """When the event loop last ran; 0: it is not to be watched. All times are of the monotonic clock, which
    the processes of a machine share.
    """
    worker_id: int
    since: float
    """When reading of the request began."""
    url_id: int
    epoch: int
    counter: int
    visit: int
    attempts: int
    is_alone: bool
    stage: int
    layer: int = 0
    """The number of the layer, in the stage `layers`."""

    @property
    def is_watched(self) -> bool:
        """Return whether the process has a running event loop."""
        return self.ticked_at > 0.0

    @property
    def is_reading(self) -> bool:
        """Return whether the event loop works on the request."""
        return self.url_id > 0 and LAYERS <= self.stage <= LINKS

    @property
    def stage_name(self) -> str:
        """The name of the stage; of a layer, its path in the task."""
        if self.stage == LAYERS:
            return f"layers[{self.layer}]"
        return STAGES[self.stage] if self.stage < len(STAGES) else ""


def share(memory: mmap | bytearray) -> None:
    """Write to this memory from now on."""
    global _memory  # noqa: PLW0603 - one record for the whole process is the point
    _memory = memory


def tick(worker_id: int = 0) -> None:
    """Record that the event loop runs, and the id of its worker if it has one."""
    _HEAD.pack_into(_memory, 0, monotonic(), worker_id)


def rest() -> None:
    """Record that there is no event loop to watch."""
    _HEAD.pack_into(_memory, 0, 0.0, 0)


def begin(lease: Lease) -> None:
    """Record that the event loop reads the answer to a leased request."""
    token = lease.token
    _REQUEST.pack_into(
        _memory,
        _REQUEST_AT,
        monotonic(),
        lease.url_id,
        token.epoch,
        token.counter,
        lease.visit,
        lease.attempts,
        lease.is_alone,
        PARSE,
        0,
    )


def begin_run(run_id: int) -> None:
    """Record that the event loop compiles the rules of a run."""
    _REQUEST.pack_into(_memory, _REQUEST_AT, monotonic(), first_id(run_id), 0, 0, 0, 0, 0, COMPILE, 0)


def enter(stage: int) -> None:
    """Record the stage of the present work."""
    _memory[_STAGE_AT] = stage


def enter_layer(number: int) -> None:
    """Record that a layer of the task works, by its number."""
    _memory[_STAGE_AT], _memory[_LAYER_AT] = LAYERS, min(number, 255)


def end() -> None:
    """Record that the present work is done."""
    _memory[_STAGE_AT] = NONE


def finish() -> None:
    """Record that this process comes to an orderly end, with whatever exit code."""
    _memory[_FINISHED_AT] = 1


def has_finished(memory: mmap | bytearray) -> bool:
    """Return whether the process with this memory came to an orderly end. One that ends by `os._exit` does
    not.
    """
    return bool(memory[_FINISHED_AT])


def held_runs() -> tuple[int, ...]:
    """Return the runs from which this process leases nothing for now, because its supervisor says so."""
    if _memory[_HELD_AT : _HELD_AT + 8] == _NOTHING_HELD:
        return ()
    return tuple(run_id for run_id in _HELD.unpack_from(_memory, _HELD_AT) if run_id)


def hold_runs(memory: mmap | bytearray, run_ids: Iterable[int]) -> None:
    """Have the process with this memory lease nothing from runs; written by its supervisor."""
    held = sorted(run_ids)[:MAX_HELD]
    _HELD.pack_into(memory, _HELD_AT, *held, *(MAX_HELD - len(held)) * [0])


def current() -> ActivityRecord:
    """Return the record of this process."""
    return decode(_memory)


def decode(memory: mmap | bytearray) -> ActivityRecord:
    """Return the record in a memory."""
    ticked_at, worker_id = _HEAD.unpack_from(memory)
    request = _REQUEST.unpack_from(memory, _REQUEST_AT)
    since, url_id, epoch, counter, visit, attempts, is_alone, stage, layer = request
    return ActivityRecord(
        *(ticked_at, worker_id, since, url_id, epoch, counter, visit, attempts, bool(is_alone), stage, layer)
    )
