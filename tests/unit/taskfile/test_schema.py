"""The JSON Schema accepts what the model accepts, and catches what a schema can catch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from smartspider.taskfile.load import parse_task
from smartspider.taskfile.schema import task_schema
from smartspider.taskfile.template import TEMPLATES, render_template


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = task_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_schema_accepts_the_contract_and_the_templates_and_its_own_example(
    validator: Draft202012Validator, seed: dict[str, Any], full: dict[str, Any]
) -> None:
    templates = [json.loads(render_template(name, url=None, task_name=None)) for name in TEMPLATES]
    for task in [seed, full, *templates, *task_schema()["examples"]]:
        validator.validate(task)
        parse_task(task)


@pytest.mark.parametrize(
    "fields",
    [
        {"a": ".b"},
        {"a": [".b", {"expr": ".c"}, {"d": ".e"}]},
        {"a": {"type": ".kind", "text": ".body"}},
        {"a": {"expr": {"expr": ".x"}, "type": {"expr": ".y"}}},
        {"a": {"type": "const", "expr": {"any": [1]}}},
        {"a": {"type": "const", "expr": None}},
    ],
)
def test_the_schema_accepts_every_form_of_a_rule(
    validator: Draft202012Validator, small: dict[str, Any], fields: dict[str, Any]
) -> None:
    task = {**small, "selectors": {"fields": fields}}
    parse_task(task)
    validator.validate(task)


@pytest.mark.parametrize(
    "entry",
    [
        {"file": "urls.txt"},
        {"file": "-", "column": "url", "page": "default", "meta": {"sku": "{sku}"}},
        {"urls": ["http://a/1"], "values": {"sku": ["A1"]}},
    ],
)
def test_the_schema_accepts_every_form_of_many_entries(
    validator: Draft202012Validator, small: dict[str, Any], entry: dict[str, Any]
) -> None:
    validator.validate({**small, "entry_urls": ["http://a/", entry], "$schema": "x.json", "description": "d"})


@pytest.mark.parametrize(
    "change",
    [
        {"entry_urls": []},
        {"entry_urls": [{"file": ""}]},
        {"entry_urls": [{"file": "a.txt", "url": "http://a/"}]},
        {"entry_urls": [{"urls": []}]},
        {"entry_urls": [{"urls": ["ftp://a/"]}]},
        {"entry_urls": ["ftp://a/"]},
        {"entry_url": []},
        {"name": "a/b"},
        {"name": ".a"},
        {"concurrency": "10"},
        {"concurrency": True},
        {"politeness": {"delay_s": -1}},
        {"limits": {"max_pages": 0}},
        {"fetch": {"mode": "chrome"}},
        {"pagination": {"type": "nextlink", "selector": "a"}},
        {"pagination": {"type": "next_link", "selectr": "a"}},
        {"schedule": "daily"},
        {"dedup": {"window": "7 days"}},
        {"scope": {"domains": ["*.a.com"]}},
        {"selectors": {"fields": {"a": {"type": "css", "exp": ".b"}}}},
        {"selectors": {"fields": {"a": {"expr": ".b", "nany": True}}}},
        {"selectors": {"fields": {"a": {"type": "css", "expr": 3}}}},
        {"selectors": {"fields": {"a": 3}}},
        {"selectors": {"fields": {"a": {"b": {"c": True}}}}},
        {"selectors": {"items": {}}},
        {"sitemaps": "https://a/"},
        {"pipeline": [{"fields": ["a"]}]},
    ],
)
def test_the_schema_refuses_the_usual_mistakes(
    validator: Draft202012Validator, small: dict[str, Any], change: dict[str, Any]
) -> None:
    assert not validator.is_valid({**small, **change})


def every_key(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in {"Task": schema, **schema["$defs"]}.items():
        for key, value in part.get("properties", {}).items():
            yield f"{name}.{key}", value


def test_every_key_is_described_and_optional_ones_show_their_default() -> None:
    schema = task_schema()
    required = {
        f"{name}.{key}"
        for name, part in {"Task": schema, **schema["$defs"]}.items()
        for key in part.get("required", [])
    }
    for key, value in every_key(schema):
        part = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
        assert value.get("description") or part.get("description"), key
        assert key in required or "default" in value, key


def test_the_schema_is_draft_2020_12_and_has_no_id_of_its_own() -> None:
    schema = task_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    assert schema["title"] == "SmartSpider task"
    assert schema["required"] == ["name", "entry_urls"]
    assert schema["properties"]["politeness"]["default"] == {}
    assert schema["$defs"]["Politeness"]["properties"]["delay_s"]["default"] == 0.5
    assert "\0" not in str(schema)
