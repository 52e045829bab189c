from __future__ import annotations

import ssl

import aiohttp
import pytest

from smartspider.core.errors import ConnectionDropped, FetchFailed, NameNotResolved, TimedOut, TlsFailed
from smartspider.fetch.translate import FOREIGN, translate_error


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        (TimeoutError(), TimedOut),
        (aiohttp.ServerTimeoutError("slow"), TimedOut),
        (aiohttp.ServerDisconnectedError(), ConnectionDropped),
        (aiohttp.ClientPayloadError("half"), ConnectionDropped),
        (aiohttp.ClientOSError(104, "reset"), ConnectionDropped),
        (ConnectionResetError("reset"), ConnectionDropped),
        (caused(aiohttp.ClientOSError(1, "x"), ssl.SSLError("bad record")), TlsFailed),
        (UnicodeError("label too long"), NameNotResolved),
        (aiohttp.InvalidURL("x"), FetchFailed),
        (ValueError("newline"), FetchFailed),
    ],
    ids=repr,
)
def test_every_foreign_error_has_its_place_in_the_tree(foreign: Exception, ours: type[FetchFailed]) -> None:
    assert isinstance(foreign, FOREIGN)
    error = translate_error(foreign, "http://h/")
    assert type(error) is ours
    assert error.message.startswith("http://h/: ")
    assert error.message[-2] != "("
