from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]


def test_json_scripts_are_named_by_their_id(said: Read) -> None:
    page = """<script id="__NEXT_DATA__" type="application/json">{"props": {"价": 1}}</script>
    <script id="__NUXT_DATA__" type="application/json" data-ssr>[{"a": 1}, 2]</script>
    <script type="application/json">{"nameless": 1}</script>
    <script id="ld" type="application/ld+json">{"other": 1}</script>
    <script id="broken" type="application/json">{"a": </script>"""
    assert said("state", page) == {"__NEXT_DATA__": {"props": {"价": 1}}, "__NUXT_DATA__": [{"a": 1}, 2]}


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (
            'window.__INITIAL_STATE__ = {"a": [1, "};"]};(function(){})()',
            {"__INITIAL_STATE__": {"a": [1, "};"]}},
        ),
        (
            'window["__PRELOADED_STATE__"]={"a":undefined,"b":[1,],}',
            {"__PRELOADED_STATE__": {"a": None, "b": [1]}},
        ),
        ('__APOLLO_STATE__={"r":2}', {"__APOLLO_STATE__": {"r": 2}}),
        ('var a = {"x": 1}, b; const list=[1,2]', {"a": {"x": 1}, "list": [1, 2]}),
        (r'window.s = JSON.parse("{\"k\":\"\\u4f60\x41\"}");', {"s": {"k": "你A"}}),
        ("""self.s=JSON.parse('{"q":"it\\'s \\u{1F600}"}')""", {"s": {"q": "it's \U0001f600"}}),
        ('window.a = window.a || {"x": 1}', {"a": {"x": 1}}),
        ('window.a = {"x": 1}; window.a = {}', {"a": {"x": 1}}),
        ('window.a = {}; window.a = {"x": 2}', {"a": {"x": 2}}),
        ("window.__NUXT__=(function(a){return {a:a}}(1))", {}),
        ("const f = {a: 1}; var g = {'b': 2}", {}),
        ('if (window.a == {"x": 1}) {}', {}),
        ('var f = x => ({"a": 1})', {}),
        ('window.a = {"cut": [1, 2', {}),
    ],
)
def test_plain_json_that_a_script_assigns_is_found(said: Read, script: str, state: dict[str, Any]) -> None:
    assert said("state", f"<script>{script}</script>") == state


def test_a_broken_value_does_not_hide_the_next(said: Read) -> None:
    page = '<script>var a = {b: {"c": 1}}; window.__X__ = {"d": 1}</script><script>window.y={"e":1}</script>'
    assert said("state", page) == {"__X__": {"d": 1}, "y": {"e": 1}}


@pytest.mark.parametrize(
    "script",
    [
        'window.a={"x":1,undefined' * 20_000,
        'var a=["' * 100_000,
        'window.a=JSON.parse("' * 100_000,
        "__A" * 300_000,
        "window." * 200_000,
        'window.a={"a":undefined,' + '"b":[1,],' * 100_000,
        "window.a=" + "[" * 500_000,
    ],
)
def test_hostile_scripts_end_quickly(said: Read, script: str) -> None:
    assert said("state", f"<script>{script}</script>") == {}
