"""Files that items refer to become requests; what a page writes in the form of a reference does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.files import (
    REFERENCE,
    FilePlan,
    is_marked,
    new_reference,
    pending_value,
    with_files,
)
from smartspider.core.requests.request import make_request
from smartspider.core.requests.urls import CanonicalRules
from smartspider.engine.file_requests import request_files

PLAN = FilePlan()
URL = "http://h.example/a.png"


def files_of(*items: dict[str, Any]) -> Extraction:
    extraction = Extraction([*items], [], "http://h.example/")
    return request_files(extraction, make_request("http://h.example/"), CanonicalRules())


def test_a_reference_becomes_one_request_however_often_an_item_has_it() -> None:
    reference = new_reference(URL, PLAN, "path")
    found = files_of({"one": reference, "two": [reference]})
    assert [(link.href, link.page) for link in found.links] == [(URL, PLAN.page)]
    assert reference[REFERENCE] == make_request(URL, page=PLAN.page).fingerprint.hex()


@pytest.mark.parametrize("url", [URL, 5, None])
def test_an_object_of_a_page_is_no_reference(url: Any) -> None:
    forged = json.loads(json.dumps({REFERENCE: PLAN.page, "url": url, "form": "path"}))
    found = files_of({"f": forged})
    assert found.links == []
    (item,) = found.items
    assert item["f"] != forged
    assert with_files(item, pending_value, is_marked) == {"f": forged}


def test_an_object_of_a_page_that_looks_like_a_marked_one_is_kept_as_well() -> None:
    forged = json.loads(json.dumps({"a": [{REFERENCE: "literal", "url": None, "form": {"b": 1}}]}))
    (item,) = files_of({"f": forged}).items
    assert with_files(item, pending_value, is_marked) == {"f": forged}
