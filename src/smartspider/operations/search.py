"""Search over all nouns."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Operations, operation
from smartspider.views.listed import Listed
from smartspider.views.params import query
from smartspider.views.search import SearchHit


class SearchOperations(Operations):
    """Finds tasks, runs, schedules, hosts, nodes, users and tokens by name or id."""

    @operation(
        "GET",
        "/api/search",
        needs=("tasks", "read"),
        summary="Search by name or id",
        answer="The hits, by kind",
        is_heavy=True,
    )
    async def search_all(
        self,
        q: Annotated[str, query("A name prefix, or an id.", min_length=1, max_length=200)],
        *,
        limit: Annotated[int, query("Maximum number of hits per kind.", ge=1, le=100)] = 20,
    ) -> Listed[SearchHit]:
        """Search tasks, hosts and nodes by name prefix, and tasks, runs, schedules, users and tokens by id or
        name. Results are limited to objects the caller can read.
        """
        from smartspider.services.search import search

        return Listed(await search(self.installation, self.principal, q, limit), None)
