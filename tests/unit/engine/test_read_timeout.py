"""Reading a page ends, whatever a regular expression of the task makes of it."""

from __future__ import annotations

import re

import pytest

from smartspider.core.errors import Unreadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request, make_request
from smartspider.engine.answer_reader import ReadTimeout
from smartspider.engine.retry_or_close import Reading

URL = "http://h.example/"
ENDLESS = re.compile(r"(a+)+$")


class Searches:
    """A reader that searches the body for an expression that tries every way there is."""

    def read(self, page: Page, _request: Request) -> Reading:
        ENDLESS.search(page.text)
        return Reading(page)


def page(body: bytes) -> Page:
    return Page(URL, 200, {}, body, "utf-8", 0.0)


def test_a_search_without_end_is_cut_off_and_the_next_page_is_read() -> None:
    reader = ReadTimeout(Searches(), longest_s=0.2)
    with pytest.raises(Unreadable, match="took more than"):
        reader.read(page(b"a" * 60 + b"!"), make_request(URL))
    reading = reader.read(page(b"aaa"), make_request(URL))
    assert reading.page.body == b"aaa"


def test_each_of_several_readers_is_cut_off() -> None:
    """A worker has one for each of its runs."""
    readers = [ReadTimeout(Searches(), longest_s=0.2) for _ in range(2)]
    for reader in readers:
        with pytest.raises(Unreadable, match="took more than"):
            reader.read(page(b"a" * 60 + b"!"), make_request(URL))


def test_an_alarm_between_two_pages_harms_nobody() -> None:
    import os
    import signal

    ReadTimeout(Searches(), longest_s=0.2)
    os.kill(os.getpid(), signal.SIGALRM)
