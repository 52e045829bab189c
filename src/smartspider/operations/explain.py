"""Explanations and previews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from smartspider.core.frontier.cause import ProblemKind
from smartspider.operations.operation import Body, Operations, operation
from smartspider.services.inputs import parse_id
from smartspider.views.explain import ExplanationView, PageDetails, ProblemGroupView
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, RunId, body, query
from smartspider.views.preview import PreviewView, SuggestionsView

PREVIEW = {
    "url": "https://shop.example.com/list",
    "status": 200,
    "engine": "lexbor",
    "items": [{"title": "Tea"}],
    "rejected": [],
    "counts": {},
    "warnings": [],
}


SUGGESTIONS = {
    "url": "https://shop.example.com/list",
    "candidates": [
        {
            "kind": "list",
            "items": "li.product",
            "count": 24,
            "score": 1.0,
            "reasons": ["24 items"],
            "fields": [{"name": "title", "rule": "h2::text", "samples": ["Tea"], "coverage": 1.0}],
            "next_page": None,
            "task": {
                "name": "shop_example_com_list",
                "entry_urls": ["https://shop.example.com/list"],
                "selectors": {"items": "li.product", "fields": {"title": "h2::text"}},
            },
        }
    ],
    "explanation": ["list, li.product: first of 1 candidate"],
}


class ExplainOperations(Operations):
    """Why a URL was or was not fetched, and rules tried on a page."""

    @operation(
        "GET",
        "/api/explain",
        needs=("runs", "read"),
        summary="Explain why a URL was or was not fetched",
        answer="The explanation",
        is_heavy=True,
    )
    async def explain_url(
        self,
        url: Annotated[str, query("The URL, with its scheme.", min_length=1, max_length=8192)],
        *,
        run_id: Annotated[str | None, query("The run; default: the newest.", max_length=40)] = None,
    ) -> ExplanationView:
        """Return the source page, canonical form, scope and robots.txt decision, and outcome of a URL in a
        run.
        """
        from smartspider.services.explain import explain_url

        run = None if run_id is None else parse_id(run_id, "run")
        return await explain_url(self.installation, url, run, self.principal.name)

    @operation(
        "GET",
        "/api/runs/{run_id}/problems",
        needs=("runs", "read"),
        summary="List what went wrong in a run",
        answer="Groups by cause and host, the most harmful first",
        is_heavy=True,
        tags=("runs", "explain"),
    )
    async def list_run_problems(
        self,
        run_id: RunId,
        *,
        kind: Annotated[
            ProblemKind | Sequence[ProblemKind],
            query(
                "Only problems of these kinds; default: all but `skipped`.",
                wire=list[ProblemKind] | None,
            ),
        ] = (),
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[ProblemGroupView]:
        """Return failed and lost requests and rejected items in groups by cause and host, the 1,000 largest,
        each with an example and what to try. While a run is active, groups may move between pages.
        """
        from smartspider.services.runs.problems import list_problems

        kinds: Sequence[ProblemKind] = (kind,) if isinstance(kind, str) else tuple(kind or ())
        return await list_problems(
            self.installation, parse_id(run_id, "run"), kinds, cursor=cursor, limit=limit
        )

    @operation(
        "GET",
        "/api/runs/{run_id}/pages/{page_id}",
        needs=("runs", "read"),
        summary="Get a request of a run",
        answer="The request and all that is known about it",
        is_heavy=True,
        tags=("runs", "explain"),
    )
    async def get_run_page(
        self,
        run_id: RunId,
        page_id: Annotated[str, Param(about="The id of a request.", rules={"max_length": 40})],
    ) -> PageDetails:
        """Return a request with its attempts, explanation, items, rejected items, changed values, number of
        children and log lines. Items and lines are cut at 50 of each.
        """
        from smartspider.services.pages import get_page

        run, page = parse_id(run_id, "run"), parse_id(page_id, "page")
        return await get_page(self.installation, run, page, self.principal.name)

    @operation(
        "POST",
        "/api/preview",
        needs=("tasks", "write"),
        summary="Fetch a page and try rules on it",
        answer="The extracted rows",
        example=PREVIEW,
        body=Body(
            "PreviewAsked",
            "A URL and one of `rules`, `selectors` and `task`.",
            examples=(
                {
                    "url": "https://shop.example.com/list",
                    "selectors": {"items": ".product", "fields": {"title": "h2::text"}},
                },
                {"url": "https://shop.example.com/list", "rules": "h1::text"},
            ),
        ),
    )
    async def preview_page(
        self,
        url: Annotated[str, body("The page to fetch.", max_length=8000)],
        *,
        rules: Annotated[
            str | Mapping[str, Any] | Sequence[Any] | None,
            body(
                "One selector (CSS, or XPath if it starts like a path), a rule, rules by field name, "
                "or a task.",
                wire=str | dict[str, Any] | list[Any] | None,
            ),
        ] = None,
        selectors: Annotated[
            Mapping[str, Any] | None,
            body("`items` and `fields`, as in a task.", wire=dict[str, Any] | None),
        ] = None,
        task: Annotated[
            Mapping[str, Any] | None,
            body("A task, or parts of one; its entry URLs are ignored.", wire=dict[str, Any] | None),
        ] = None,
        page: Annotated[str, body("The page type whose rules are tried.", max_length=100)] = "default",
    ) -> PreviewView:
        """Fetch a page within its host's rate limit and extract it as a crawl does. Nothing is stored."""
        from smartspider.wiring.preview.dry_run import preview_page

        given = {"rules": rules, "selectors": selectors, "task": task}
        services = self.services
        return await preview_page(
            *(services.installation, services.previews, self.principal, url), given=given, page_type=page
        )

    @operation(
        "POST",
        "/api/suggest",
        needs=("tasks", "write"),
        summary="Suggest tasks for a page",
        answer="The candidates, best first",
        example=SUGGESTIONS,
        body=Body(
            "SuggestAsked",
            "A URL, and headers to fetch it with.",
            examples=({"url": "https://shop.example.com/list"},),
        ),
    )
    async def suggest_tasks(
        self,
        url: Annotated[str, body("The page to fetch.", max_length=8000)],
        *,
        headers: Annotated[
            Mapping[str, str] | None,
            body(
                "Request headers, also in the suggested tasks. `${NAME}` in a value is a secret.",
                wire=dict[str, str] | None,
            ),
        ] = None,
    ) -> SuggestionsView:
        """Fetch a page within its host's rate limit, detect its lists and fields, fetch likely next pages,
        and return a task for each list. A feed, a sitemap or a JSON API works, too. Nothing is stored.
        """
        from smartspider.wiring.preview.dry_run import suggest_tasks

        services = self.services
        return await suggest_tasks(
            services.installation, services.previews, self.principal, url, headers or {}
        )
