"""Pages of lists that bring what an earlier page of their list brought: the list ends there.

All functions run inside a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from smartspider.core.frontier.verdict import Close
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.core.requests.request import Request
from smartspider.store import statements
from smartspider.store.database import Connection
from smartspider.store.settle.left_out import is_list_page

SQL = statements.load("list_pages.sql", __package__)


class ListPage(NamedTuple):
    """A page of a list."""

    url_id: int
    url: str


class ListPages:
    """The pages of lists of a settle, and what was known before. A list is called by the id of the page that
    it begins with.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._chains: dict[int, int] = {}
        self._known: dict[tuple[int, bytes], ListPage] = {}
        self._new: list[tuple[int, bytes, int]] = []

    def load(self, asked: Iterable[tuple[int, bytes]]) -> None:
        """Look up the lists of pages that led to next ones, and the earlier pages with the same digest."""
        for url_id, chain, digest, same_id, url in self._connection.executemany(SQL.find, sorted(set(asked))):
            self._chains[url_id] = chain
            if digest is not None:
                self._known[chain, bytes(digest)] = ListPage(same_id, url)

    def judge(self, page: ListPage, parent_id: int | None, close: Close) -> Close:
        """Return the verdict on a page, without items and next pages if another page of its list brought the
        same. `parent_id` is given for next pages.
        """
        if not close.list_digest:
            return close
        chain = page.url_id if parent_id is None else self._chains.get(parent_id, parent_id)
        first = self._known.setdefault((chain, close.list_digest), page)
        if first is page:
            self._new.append((chain, close.list_digest, page.url_id))
        return close if first.url_id == page.url_id else _without_repeated(close, first)

    def write(self) -> None:
        """Write the new pages."""
        self._connection.executemany(SQL.add, self._new)


def _without_repeated(close: Close, first: ListPage) -> Close:
    refusal = Refusal("repeated", f"repeated: the page has the items of {first.url}, so the list ends here")
    further = [child for child in (*close.children, *close.next_pages) if is_list_page(child)]
    left_out = [LeftOutLink(one.fingerprint, one.url, refusal, is_next_page=True) for one in further]
    return msgspec.structs.replace(
        close,
        items=[],
        keys=[],
        children=_others(close.children),
        next_pages=[],
        links=_others(close.links),
        left_out=[*close.left_out, *left_out],
    )


def _others(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if not is_list_page(request)]
