"""A server that is asked to stop while somebody still waits for an answer."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import Message, Receive, Scope, Send

from smartspider.api import process
from smartspider.api.problems import CatchUnexpected
from smartspider.telemetry import process_log

SCOPE: Scope = {"type": "http", "method": "GET", "path": "/api/runs", "headers": []}


async def receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def cancelled(app: CatchUnexpected) -> list[Message]:
    """What is sent for a request that the server ends in the middle."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    answering = asyncio.ensure_future(app(SCOPE, receive, send))
    await asyncio.sleep(0)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    assert answering.done()
    sent.append({"type": "test.cancelled", "is_so": answering.cancelled()})
    return sent


async def test_who_waits_for_a_store_that_is_away_hears_that_the_server_stops() -> None:
    async def waits(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.Event().wait()

    start, body, end = await cancelled(CatchUnexpected(waits))
    assert start["status"] == 503
    problem = msgspec.json.decode(body["body"])
    assert problem["detail"] == "the server is shutting down"
    assert problem["hint"]
    assert not end["is_so"], "nothing is left for the log of the server"


async def test_an_answer_that_has_begun_is_broken_off() -> None:
    async def halts(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    start, end = await cancelled(CatchUnexpected(halts))
    assert start["status"] == 200
    assert end["is_so"]


def test_all_of_stopping_takes_no_more_than_three_seconds() -> None:
    assert process.SHUTDOWN_S + process_log.LAST_LINES_S <= 3.0
