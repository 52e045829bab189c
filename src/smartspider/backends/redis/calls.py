"""Arguments and results of the library's functions."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl
from smartspider.core.requests.domains import registrable_domain
from smartspider.core.runs.run import encode_capabilities, run_of

BATCH = 500
"""URLs in one call."""
LANE_CAP = 1000
"""Maximum length of the head of a lane."""

T = TypeVar("T")

_ID = struct.Struct(">Q")


def id_bytes(url_id: int) -> bytes:
    """Encode an id: three bytes of the run, five of the number within it."""
    return _ID.pack(url_id)


def ids(packed: bytes) -> list[int]:
    """Decode a sequence of ids."""
    return [number for (number,) in _ID.iter_unpack(packed)]


def due(place: QueuePosition) -> str:
    """Encode when a request is due: '' at once, a time, prefixed with 'a' for a
    request that is leased alone.
    """
    if place.is_alone:
        return f"a{place.due_at!r}"
    return repr(place.due_at) if place.due_at > 0 else ""


def token_args(shards: Shards, lease: Lease) -> list[Any]:
    """Encode a lease as its server knows it."""
    return [id_bytes(lease.url_id), lease.token.epoch, shards.number(lease.token.counter)]


def control_args(control: RunControl) -> list[Any]:
    """Encode the control of a run."""
    per_domain = -1 if control.per_domain is None else control.per_domain
    packed = msgspec.msgpack.encode(
        (
            *(control.state, control.weight, control.concurrency, control.delay_s, control.per_host),
            *(per_domain, encode_capabilities(control.needs), control.pace.delay_s),
            {host: (gate.delay_s, gate.held_until) for host, gate in control.pace.gates.items()} or None,
        )
    )
    return [control.run_id, packed]


def host_args(host: HostRow) -> list[Any]:
    """Encode a gate."""
    seconds = (host.robots_s, host.adaptive_s, host.operator_s, host.held_until)
    delays = (repr(float(one)) for one in seconds)
    return [host.name, host.domain, *delays, host.openings, repr(float(host.changed_at))]


def place_args(run_id: int, places: Iterable[QueuePosition], cap: int) -> list[Any]:
    """Encode requests of one run and shard, grouped by host."""
    by_host: dict[str, list[Any]] = {}
    for place in places:
        entry = (id_bytes(place.url_id), place.rank, due(place))
        by_host.setdefault(place.host, []).extend(entry)
    args: list[Any] = [run_id, cap]
    for host, entries in by_host.items():
        args += [host, registrable_domain(host), len(entries) // 3, *entries]
    return args


def offer_calls(shards: Shards, places: Iterable[QueuePosition], cap: int) -> list[Call]:
    """Return offers by run and shard, grouped by host."""
    groups: dict[tuple[int, int], list[QueuePosition]] = {}
    for place in places:
        groups.setdefault((run_of(place.url_id), shards.of(place.host)), []).append(place)
    calls = []
    for (run_id, shard), group in groups.items():
        group.sort(key=lambda place: place.host)
        calls += [Call(shard, "offer", place_args(run_id, part, cap)) for part in batches(group)]
    return calls


def host_calls(shards: Shards, hosts: Iterable[HostRow]) -> list[Call]:
    """Return the calls for changed gates, by shard."""
    groups: dict[int, list[Any]] = {}
    for host in hosts:
        groups.setdefault(shards.of(host.name), []).extend(host_args(host))
    return [Call(shard, "hosts", args) for shard, args in groups.items()]


def lease_calls(
    shards: Shards, name: str, entries: Iterable[tuple[Lease, Sequence[Any]]], *, first: Sequence[Any] = ()
) -> list[Call]:
    """Return calls about leases by shard: `first`, then for each lease its token and further values."""
    groups: dict[int, list[list[Any]]] = {}
    for lease, beside in entries:
        groups.setdefault(shards.of(lease.request.host), []).append([*token_args(shards, lease), *beside])
    return [
        Call(shard, name, [*first, *(arg for entry in part for arg in entry)])
        for shard, group in groups.items()
        for part in batches(group)
    ]


def batches(things: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield parts of at most `size` elements."""
    return (things[start : start + size] for start in range(0, len(things), size))
