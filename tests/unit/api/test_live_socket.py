"""One socket that watches runs, logs, machines and hosts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving
from tests.unit.api.test_log_routes import line
from tests.unit.api.watching import new_run, receive, refusal, until, watching

from smartspider.api.limits import ApiLimits
from smartspider.api.websocket_limits import InboundRates
from smartspider.core.limits.rate_limits import RateLimit
from smartspider.operations.services import Services
from smartspider.services.live.topics import TOPICS
from smartspider_testing.hostile.sockets import FLOODS, flood_once
from smartspider_testing.waiting import WAIT_S

LIVE = "/api/live"
Socket = aiohttp.ClientWebSocketResponse


async def ask(socket: Socket, op: str = "watch", id: str = "1", **more: Any) -> None:  # noqa: A002 - of the API
    await socket.send_str(msgspec.json.encode({"op": op, "id": id, **more}).decode())


async def until_message(socket: Socket, is_it: Callable[[Any], object]) -> tuple[Any, list[Any]]:
    """The first message that is it, and those before."""
    before = []
    while not is_it(message := await receive(socket)):
        before.append(message)
    return message, before


async def watch(socket: Socket, **params: Any) -> Any:
    """Watch, and return the answer that it has begun."""
    await ask(socket, **params)
    ready = await receive(socket)
    assert ready["type"] == "ready", ready
    return ready


async def problem(socket: Socket) -> Any:
    message, _ = await until_message(socket, lambda one: one["type"] == "error")
    assert message["data"]["hint"]
    return message


async def set_state(services: Services, run_id: int, *states: Any) -> None:
    for state in states:
        await services.installation.store.set_state(run_id, state)


async def last_event(services: Services, run_id: int) -> int:
    return (await services.installation.events.of_run(run_id))[-1].number


def event_numbers(messages: list[Any]) -> list[Any]:
    return [event["id"] for message in messages for event in message["data"]["events"]]


async def test_a_run_is_shown_with_its_status_and_its_events(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, LIVE) as socket:
        ready = await watch(socket, topic="run", run_id=str(run.id), after=0)
        assert ready == {"id": "1", "topic": "run", "type": "ready", "after": 0, "data": None}
        await set_state(services, run.id, "paused", "running", "cancelled")

        def is_over(message: Any) -> bool:
            status = message["data"]["status"]
            return status is not None and status["state"] == "cancelled"

        last, before = await until_message(socket, is_over)
    status = (await api.get(f"/api/runs/{run.id}")).expect(200).json
    assert last["data"]["status"] == status
    assert event_numbers([*before, last]) == list(range(1, await last_event(services, run.id) + 1))
    assert last["after"] == await last_event(services, run.id)
    assert before[0]["data"]["status"] is not None


async def test_a_watch_without_a_position_begins_now(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, LIVE) as socket:
        ready = await watch(socket, topic="run", run_id=str(run.id))
        assert ready["after"] == await last_event(services, run.id)
        await set_state(services, run.id, "paused")
        message, before = await until_message(socket, lambda one: one["data"]["events"])
        assert event_numbers([*before, message])[0] == ready["after"] + 1


async def test_a_run_that_is_watched_again_misses_and_doubles_nothing(
    api: Caller, services: Services
) -> None:
    run = await new_run(services)
    seen: list[Any] = []
    after: Any = 0
    for _ in range(5):
        async with watching(api, LIVE) as socket:
            await watch(socket, topic="run", run_id=str(run.id), after=after)
            message, before = await until_message(socket, lambda one: one["data"]["events"])
            seen += [*before, message]
            after = message["after"]
            await set_state(services, run.id, "paused", "running")
    await set_state(services, run.id, "cancelled")
    last = await last_event(services, run.id)
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="run", run_id=str(run.id), after=after)
        message, before = await until_message(socket, lambda one: one["after"] == last)
    assert event_numbers([*seen, *before, message]) == list(range(1, last + 1))


async def test_events_that_are_forgotten_are_told_as_a_reset(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await set_state(services, run.id, "paused", "running", "paused", "running")
    last = await last_event(services, run.id)
    await services.installation.events.trim(run.id, 2)
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="run", run_id=str(run.id), after=1)
        message, _ = await until_message(socket, lambda one: one["after"] == last)
    reset, *events = message["data"]["events"]
    assert (reset["event"], reset["data"]) == ("stream.reset", {"first": last - 1})
    assert [event["id"] for event in events] == [last - 1, last]


async def test_log_lines_are_shown_once_and_resumed_by_their_ids(api: Caller, services: Services) -> None:
    logs = services.installation.logs
    await logs.add([line(services, f"old {number}") for number in range(3)])
    async with watching(api, LIVE) as socket:
        assert (await watch(socket, topic="logs", level="warning"))["after"] == "3"
        await logs.add([line(services, "quiet"), line(services, "loud", "error")])
        message = await receive(socket)
        assert [one["text"] for one in message["data"]["lines"]] == ["loud"]
    await logs.add([line(services, str(number), "error") for number in range(700)])
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="logs", level="warning", after=message["after"])
        texts: list[str] = []
        while len(texts) < 700:
            texts += [one["text"] for one in (await receive(socket))["data"]["lines"]]
    assert texts == [str(number) for number in range(700)]


async def test_live_runs_are_shown_with_their_speed(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="runs")
        (shown,) = (await receive(socket))["data"]["items"]
        assert (shown["id"], shown["state"], shown["total"]) == (str(run.id), "running", 1)
        assert {"pages_per_s", "eta_s"} <= set(shown)
        await set_state(services, run.id, "cancelled")
        await until_message(socket, lambda one: one["data"]["items"] == [])


async def test_hosts_are_sent_when_they_have_changed(api: Caller) -> None:
    (await api.post("/api/hosts/a.example/hold", {"seconds": 600})).expect(200)
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="hosts", held=True)
        message = await receive(socket)
        assert message["data"] == (await api.get("/api/hosts?held=true")).json
        (await api.post("/api/hosts/b.example/hold", {"seconds": 600})).expect(200)
        message = await receive(socket)
        assert message["data"] == (await api.get("/api/hosts?held=true")).json
        assert len(message["data"]["items"]) == 2
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="hosts", held=True, after=message["after"])
        (await api.post("/api/hosts/a.example/resume")).expect(200)
        (one,) = (await receive(socket))["data"]["items"]
        assert one["host"] == "b.example"


async def test_machines_are_shown_as_they_are_listed(api: Caller) -> None:
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="nodes")
        shown = (await receive(socket))["data"]
        listed = (await api.get("/api/nodes")).json
    assert [one["node"] for one in shown["items"]] == [one["node"] for one in listed["items"]]
    assert set(shown["items"][0]) == set(listed["items"][0])


async def test_a_watch_ends_when_asked(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, LIVE) as socket:
        await watch(socket, id="a", topic="run", run_id=str(run.id))
        await ask(socket, "unwatch", "a")
        await until(lambda: not len(services.live_readers))
        await ask(socket, "unwatch", "a")
        assert (await problem(socket))["data"]["code"] == "not_found"
        assert (await watch(socket, id="a", topic="runs"))["id"] == "a"
    await until(lambda: not len(services.live_readers) and not len(services.hub))


@pytest.mark.parametrize(
    ("text", "id_", "said"),
    [
        ("", None, "not a JSON object"),
        ("[]", None, "not a JSON object"),
        ("[" * 10_000, None, "not a JSON object"),
        ('{"op": "watch"}', None, "missing required field `id`"),
        ('{"op": "watch", "id": 7, "topic": "runs"}', None, "Expected `str`, got `int`"),
        ('{"op": "look", "id": "1"}', "1", "Invalid enum value 'look'"),
        ('{"op": "watch", "id": "1", "topic": "news"}', "1", "there is no topic 'news'"),
        ('{"op": "watch", "id": "1", "topic": "run"}', "1", "missing required field `run_id`"),
        ('{"op": "watch", "id": "1", "topic": "run", "run_id": 7}', "1", "Expected `str`, got `int`"),
        ('{"op": "watch", "id": "1", "topic": "run", "run_id": "99"}', "1", "99"),
        ('{"op": "watch", "id": "1", "topic": "runs", "color": 1}', "1", "unknown field `color`"),
        ('{"op": "watch", "id": "1", "topic": "hosts", "limit": 0}', "1", "between 1 and"),
        ('{"op": "watch", "id": "1", "topic": "logs", "level": "loud"}', "1", "not a level"),
        ('{"op": "watch", "id": "1", "topic": "logs", "after": "x"}', "1", "not a position"),
        ('{"op": "watch", "id": "1", "topic": "logs", "text": {"a": 1}}', "1", "Expected `str | null`"),
        ('{"op": "watch", "id": "", "topic": "runs"}', "", "1 to 100 characters"),
        ('{"op": "watch", "id": "\\ud800", "topic": "runs"}', None, "not a JSON object"),
        ("x" * 20_000, None, "at most 16384 characters"),
    ],
)
async def test_a_message_that_makes_no_sense_is_answered(
    api: Caller, text: str, id_: str | None, said: str
) -> None:
    async with watching(api, LIVE) as socket:
        await socket.send_str(text)
        message = await problem(socket)
        assert message["id"] == id_
        assert said in message["data"]["detail"]
        await watch(socket, id="next", topic="runs")


async def test_bytes_are_answered_too(api: Caller) -> None:
    async with watching(api, LIVE) as socket:
        await socket.send_bytes(b"\xff")
        assert "not bytes" in (await problem(socket))["data"]["detail"]


async def test_an_unknown_topic_is_answered_with_those_there_are(api: Caller) -> None:
    async with watching(api, LIVE) as socket:
        await ask(socket, topic="news")
        assert (await problem(socket))["data"]["hint"] == f"the topics are {', '.join(TOPICS)}"


async def test_a_socket_has_so_many_watches_each_with_its_id(api: Caller) -> None:
    async with watching(api, LIVE) as socket:
        for number in range(16):
            await ask(socket, id=str(number), topic="runs")
        await ask(socket, id="16", topic="runs")
        assert (await problem(socket))["data"]["code"] == "too_many"
        await ask(socket, id="3", topic="runs")
        message = await problem(socket)
        assert (message["id"], message["data"]["code"]) == ("3", "conflict")


async def test_a_deleted_run_ends_its_watch_alone(api: Caller, services: Services) -> None:
    run, other = await new_run(services), await new_run(services, "other")
    async with watching(api, LIVE) as socket:
        await watch(socket, id="a", topic="run", run_id=str(run.id))
        await ask(socket, id="b", topic="run", run_id=str(other.id))
        await set_state(services, run.id, "cancelled")
        await services.installation.store.delete_run(run.id)
        message = await problem(socket)
        assert (message["id"], message["data"]["code"]) == ("a", "not_found")
        await set_state(services, other.id, "paused")
        await until_message(socket, lambda one: one["id"] == "b" and one["data"] and one["data"]["events"])


async def test_each_topic_needs_its_right(api: Caller, services: Services) -> None:
    made = {"name": "some", "role": "viewer", "scopes": ["nodes:read"]}
    token = (await api.post("/api/tokens", made)).expect(201).json["token"]
    run = await new_run(services)
    async with watching(api.with_token(token), LIVE) as socket:
        for topic, params in (("run", {"run_id": str(run.id)}), ("runs", {}), ("logs", {}), ("hosts", {})):
            await ask(socket, topic=topic, **params)
            assert (await problem(socket))["data"]["code"] == "forbidden", topic
        await watch(socket, topic="nodes")


async def test_secrets_of_other_people_are_masked(api: Caller, services: Services) -> None:
    token = (await api.post("/api/tokens", {"name": "eye", "role": "viewer"})).expect(201).json["token"]
    for caller, shown in ((api, "hunter2"), (api.with_token(token), "[redacted]")):
        async with watching(caller, LIVE) as socket:
            await watch(socket, topic="logs")
            secret = line(services, "page", url="http://h.example/?session_key=hunter2")
            await services.installation.logs.add([secret])
            (one,) = (await receive(socket))["data"]["lines"]
            assert one["url"] == f"http://h.example/?session_key={shown}"


async def test_nobody_watches_without_a_token(api: Caller) -> None:
    assert await refusal(api.with_token(None), LIVE) == 401
    assert await refusal(api.with_token("forged"), LIVE) == 401
    assert await refusal(api, f"{LIVE}?topic=run") == 422
    ticket = (await api.post("/api/auth/ticket")).expect(200).json["ticket"]
    async with watching(api.with_token(None), f"{LIVE}?ticket={ticket}") as socket:
        await watch(socket, topic="runs")
    assert await refusal(api.with_token(None), f"{LIVE}?ticket={ticket}") == 401


async def closed(socket: Socket) -> tuple[int | None, str | None]:
    """Read until the server closes; the code and the reason."""
    async with asyncio.timeout(WAIT_S):
        while True:
            message = await socket.receive()
            if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED):
                return socket.close_code, message.extra


@pytest.mark.parametrize("limits", [ApiLimits(recheck_s=0.05)])
async def test_a_revoked_token_ends_its_socket_even_if_it_talks(api: Caller) -> None:
    made = (await api.post("/api/tokens", {"name": "soon", "role": "viewer"})).expect(201).json
    async with watching(api.with_token(made["token"]), LIVE) as socket:
        await watch(socket, topic="runs")
        (await api("DELETE", f"/api/tokens/{made['id']}")).expect(200)
        ending = asyncio.create_task(closed(socket))
        for _ in range(50):  # more often than the token is checked, less often than is allowed
            if ending.done():
                break
            await ask(socket, "unwatch", "x")
            await asyncio.sleep(0.01)
        assert (await ending)[0] == 1008


async def test_a_server_that_stops_ends_its_sockets(api: Caller, services: Services) -> None:
    async with watching(api, LIVE) as idle, watching(api, LIVE) as socket:
        await watch(socket, topic="nodes")
        await until(lambda: len(services.hub) == 2)
        services.hub.stop()
        assert (await closed(socket))[0] == 1012
        assert (await closed(idle))[0] == 1012


@pytest.mark.parametrize("kind", FLOODS)
async def test_one_that_sends_too_much_is_closed(api: Caller, services: Services, kind: str) -> None:
    seen: Counter[str] = Counter()
    async with asyncio.timeout(WAIT_S):
        with suppress(ConnectionError):
            await flood_once(api.base + LIVE, kind, {"Authorization": f"Bearer {api.token}"}, seen)
    assert seen["101"] == 1
    assert seen["closed 1008"] + seen["disconnected"] == 1  # reset by what was still sent
    made = (await api.post("/api/tokens", {"name": "other", "role": "viewer"})).expect(201).json
    async with watching(api.with_token(made["token"]), LIVE) as socket:
        await watch(socket, topic="runs")
    await until(lambda: not len(services.hub))


async def test_a_user_shares_a_limit_over_all_sockets(services: Services) -> None:
    rates = InboundRates(of_user=RateLimit(0.001, 10))
    async with serving(services, rates=rates) as base, aiohttp.ClientSession() as session:
        api = Caller(session, base, ADMIN_TOKEN)
        made = (await api.post("/api/tokens", {"name": "other", "role": "viewer"})).expect(201).json
        async with (
            watching(api, LIVE) as first,
            watching(api, LIVE) as second,
            watching(api.with_token(made["token"]), LIVE) as other,
        ):
            for _ in range(3):
                await ask(first, "unwatch", "x")
                await problem(first)
            for socket in (first, second):
                await ask(socket, "unwatch", "x")
                assert await closed(socket) == (1008, "too many messages")
            await watch(other, topic="nodes")


async def test_opening_sockets_counts_against_the_rate_of_the_token(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, rate_limit=RateLimit(0.001, 40.0))
    async with (
        open_services(tmp_path / "other", settings) as services,
        serving(services) as base,
        aiohttp.ClientSession() as session,
    ):
        answers = [await refusal(Caller(session, base, ADMIN_TOKEN), LIVE) for _ in range(6)]
    assert answers == [101] * 4 + [429] * 2


async def test_watches_of_one_run_share_its_status(
    api: Caller, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await new_run(services)
    reads = 0
    diagnostics = services.installation.diagnostics
    progress = diagnostics.progress

    async def counted(run_id: int) -> Any:
        nonlocal reads
        reads += 1
        return await progress(run_id)

    monkeypatch.setattr(diagnostics, "progress", counted)

    async def follow() -> None:
        async with watching(api, LIVE) as socket:
            await watch(socket, topic="run", run_id=str(run.id), after=0)
            for number in range(3):
                await ask(socket, id=f"again {number}", topic="run", run_id=str(run.id))
            ended = 0
            while ended < 4:
                message = await receive(socket)
                status = message["data"] and message["data"]["status"]
                ended += bool(status) and status["state"] == "cancelled"

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(follow())
        await until(lambda: len(services.hub) == 10)
        await set_state(services, run.id, "cancelled")
    assert reads < 20  # 40 watches


async def test_a_watch_gets_at_most_four_updates_a_second(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, LIVE) as socket:
        await watch(socket, topic="run", run_id=str(run.id))
        for _ in range(100):
            await set_state(services, run.id, "paused", "running")
        last = await last_event(services, run.id)
        _, before = await until_message(socket, lambda one: one["after"] == last)
    assert len(before) < 30  # of 400 events
