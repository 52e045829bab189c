from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]


def _script(text: str, kind: str = "application/ld+json") -> str:
    return f'<script type="{kind}">{text}</script>'


def test_all_scripts_lists_and_graphs_become_one_list(said: Read) -> None:
    page = (
        _script('{"@context": "https://schema.org", "@type": "WebSite", "name": "店"}')
        + _script('[{"@type": "A"}, [{"@type": "B"}]]', "Application/LD+JSON; charset=utf-8")
        + _script('{"@context": "x", "@graph": [{"@type": "C"}, {"@graph": {"@type": "D"}}]}')
        + _script('{"@type": "E", "@graph": [{"@type": "F"}]}')
        + _script('{"@type": "not read"}', "application/json")
    )
    assert [thing["@type"] for thing in said("json_ld", page)] == ["WebSite", "A", "B", "C", "D", "E", "F"]
    assert said("json_ld", page)[0]["name"] == "店"
    assert "@graph" not in said("json_ld", page)[5]


@pytest.mark.parametrize(
    "text",
    [
        '<!-- {"a": 1} -->',
        '//<![CDATA[\n{"a": 1}\n//]]>',
        '/*<![CDATA[*/ {"a": 1} /*]]>*/',
        '<![CDATA[{"a": 1}]]>',
        '\ufeff{"a": 1};',
        '{"a": 1,}',
        "{&quot;a&quot;: 1}",
    ],
)
def test_what_stands_around_a_block_does_not_matter(said: Read, text: str) -> None:
    assert said("json_ld", _script(text)) == [{"a": 1}]


def test_small_mistakes_are_forgiven_outside_of_texts(said: Read) -> None:
    text = (
        '{"a": "x,] undefined NaN", "b": [1, 2, ], "c": undefined, "d": NaN, "e": 1e999, "f": "two\nlines"}'
    )
    assert said("json_ld", _script(text)) == [
        {"a": "x,] undefined NaN", "b": [1, 2], "c": None, "d": None, "e": None, "f": "two\nlines"}
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "http://x/*y*/", // the name\n "b": 2}',
        '// first\n{"a": "http://x/*y*/", /* two\nlines */ "b": 2, // last\n}',
        '/* a */ /* b */ {"a": "http://x/*y*/" /* c */ , "b": /* d */ 2} /* e */',
        '<!--\n// first\n{"a": "http://x/*y*/", "b": 2}\n-->',
    ],
)
def test_comments_are_left_out(said: Read, text: str) -> None:
    assert said("json_ld", _script(text)) == [{"a": "http://x/*y*/", "b": 2}]


def test_a_broken_block_costs_only_itself(said: Read) -> None:
    page = _script('{"a": ') + _script("no json") + _script("") + _script('{"b": 1}')
    assert said("json_ld", page) == [{"b": 1}]


def test_foreign_characters_are_taken_out_and_counted(document: Callable[..., Any]) -> None:
    from smartspider.extract.sources import read_source

    page = document(_script(r'{"a": "x\u0000y", "b\ud800": "\udfff", "c": "\ud83d\ude00"}'))
    assert read_source("json_ld", page) == [{"a": "xy", "b": "", "c": "\U0001f600"}]
    assert page.cleaned == 2


def test_a_page_that_is_json_ld_itself_is_read(said: Read) -> None:
    assert said("json_ld", '{"@type": "Thing"}', content_type="application/ld+json") == [{"@type": "Thing"}]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500_000,
        '{"a":' * 150 + "1" + "}" * 150,
        '[1,,"' + '\\"' * 200_000,
        "[" + "9" * 10_000 + "]",
        '["' + "x" * 2_000_000,
    ],
)
def test_hostile_blocks_end_quickly_and_give_nothing(said: Read, text: str) -> None:
    assert said("json_ld", _script(text)) == []


def test_there_is_an_end_to_the_objects_of_a_page(said: Read) -> None:
    assert len(said("json_ld", _script(json.dumps([{"@type": "A"}] * 12_000)))) == 10_000
