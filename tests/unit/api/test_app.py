"""The app as a whole."""

from __future__ import annotations

from tests.unit.api.asking import Caller


async def test_the_document_is_openapi_3_1(api: Caller) -> None:
    document = (await api.get("/api/openapi.json")).expect(200).json
    assert document["openapi"].startswith("3.1")


async def test_what_is_not_there_is_a_problem(api: Caller) -> None:
    answer = (await api.get("/api/nothing")).expect(404)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["code"] == "not_found"
