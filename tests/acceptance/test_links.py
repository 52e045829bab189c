"""Links as pages write them lead where a browser would go."""

from __future__ import annotations

import pytest
from tests.acceptance.workshop import Workshop, linked, title_task, written_site

pytestmark = pytest.mark.acceptance


def test_the_same_relative_link_on_two_pages_of_a_folder_leads_to_two_pages(workshop: Workshop) -> None:
    graph = {
        "/": ["/list/red", "/list/blue", "list/green#top"],
        "/list/red": ["?page=2", "#top", "", "../list/blue"],
        "/list/blue": ["?page=2", "./green", "//127.0.0.1:1/elsewhere"],
        "/list/green": ["?page=2", "red?utm_source=x"],
        "/list/red?page=2": ["?page=3"],
        "/list/blue?page=2": ["?page=3"],
        "/list/green?page=2": ["blue"],
        "/list/red?page=3": [],
        "/list/blue?page=3": [],
    }
    with written_site(workshop.folder, routes=linked(graph)) as site:
        # One after the other, so that what the first page taught is known when the next is read.
        workshop.write(title_task(site.url("/"), concurrency=1, scope={"deny": [":1/"]}))
        assert workshop.crawl("-o", "rows.jsonl").expect(0).json["pages"] == len(graph)
        assert sorted(row["title"] for row in workshop.rows()) == sorted(graph)
        assert sorted(site.paths()) == sorted(graph)
