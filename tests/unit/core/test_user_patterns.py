"""Patterns of people: the results of `re` on every engine, in bounded time."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.core.errors import PatternTimeout
from smartspider.core.patterns.cost import cheap_length
from smartspider.core.patterns.pattern import PatternLimits, UserPattern
from smartspider.core.patterns.syntax import parse

ALWAYS_OTHER = PatternLimits(max_steps=0)
"""RE2 where it applies, else `regex`."""
ALWAYS_REGEX = PatternLimits(max_steps=0, max_re2_steps=0)

ATOMS = st.sampled_from(
    [
        *"abcAké1_ .",
        *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\.", r"\n", r"\x41", r"\u00e9"),
        *(
            "[ab]",
            "[^a]",
            "[a-c1]",
            r"[\w-]",
            r"[^\w]",
            r"[\W\d]",
            r"[^\s\W]",
            "[^\\n]",
            "[é-ü]",
            "[[:a]",
            "{e}",
        ),
        *("^", "$", r"\A", r"\Z", r"\b", r"\B"),
    ]
)
REPEATS = st.sampled_from(
    ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{,2}", "{1,3}?", "*+", "++", "{1,2}+"]
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda each: f"({each})"),
        inner.map(lambda each: f"(?:{each})"),
        st.tuples(inner, REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(ATOMS, REPEATS).map("".join),
        inner.map(lambda each: f"(?i:{each})"),
        inner.map(lambda each: f"(?s-m:{each})"),
        inner.map(lambda each: f"(?={each})"),
        inner.map(lambda each: f"(?!{each})"),
        inner.map(lambda each: f"(?>{each})"),
        ATOMS.map(lambda each: f"(?<={each})"),
        ATOMS.map(lambda each: f"(?<!{each})"),
    )


REFERENCES = ["{}", "{}", "{}", "(?:{})(a)", r"(.)\1{}", "([ab])?{}(?(1)a|b)", r"(?P<x>\w){}(?P=x)"]
"""References to groups come last or first: in repeats `re` mixes up the rounds they refer to."""
PATTERNS = st.builds(
    lambda flags, around, inner: flags + around.format(inner),
    st.sampled_from(["", "", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?x)"]),
    st.sampled_from(REFERENCES),
    st.recursive(ATOMS, _compound, max_leaves=8),
)
TEXTS = st.text(st.sampled_from("aaabbbcAKk\u212aé\u0301½1_ -.\n\x1c\u2028{e[:"), max_size=14)


def _results(pattern: Any, text: str) -> list[tuple[Any, ...]]:
    return [
        (found.start(), found.end(), *(found[group] for group in range(pattern.groups + 1)))
        for found in pattern.finditer(text)
    ]


def _compiled(source: str) -> re.Pattern[str] | None:
    try:
        return re.compile(source)
    except re.error:
        return None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PATTERNS, TEXTS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_engine_finds_what_re_finds(source: str, text: str) -> None:
    expected = _compiled(source)
    if expected is None:
        return
    wanted = _results(expected, text)
    for limits in (ALWAYS_OTHER, ALWAYS_REGEX):
        pattern = UserPattern(source, limits=limits)
        assert _results(pattern, text) == wanted, (limits, source, text)
        first = pattern.search(text)
        assert (first and first[0]) == (wanted[0][2] if wanted else None)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"^https?://[^/]+/(\w+/?)+\.pdf$", "https://h.example/" + "a" * 5000),
        (r"(a|a)*b", "a" * 5000),
        (r"(x+x+)+y", "x" * 5000),
        (r"\s+$", " " * 100_000 + "x"),
        (r"href=([^>]+)>", "href=" * 200_000),
        (r".*foo.*bar.*", "foo" * 10_000),
    ],
)
def test_ascii_texts_are_searched_in_linear_time(source: str, text: str) -> None:
    started = time.process_time()
    assert UserPattern(source).search(text) is None or source == r".*foo.*bar.*"
    assert time.process_time() - started < 5  # a safety net: by backtracking each takes minutes at least


@pytest.mark.parametrize("source", [r"(?=x)(x+x+)+y", r"(?:\w+é?)+(?<=y)x", r"(x+x+)+(.)\2{5}z"])
def test_a_pattern_that_no_engine_can_bound_ends_at_its_deadline(source: str) -> None:
    pattern = UserPattern(source, limits=PatternLimits(longest_s=0.05))
    with pytest.raises(PatternTimeout, match=r"took more than 0\.05 s") as caught:
        pattern.search("x" * 3000 + "éxx")
    assert caught.value.at("scope.deny[0]").message.startswith("scope.deny[0]: the pattern")


@pytest.mark.parametrize(
    "source",
    [
        r"/item-\d+",
        r"\.(?:jpe?g|png)$",
        r"^https?://[^/]+/[^/]+/\d+/?$",
        r"/p/\d+(-\w+)?\.html",
        r"[?&]page=\d+",
    ],
)
def test_ordinary_patterns_search_ordinary_urls_with_re(source: str) -> None:
    assert cheap_length(*parse(source)) >= 300


@pytest.mark.parametrize("source", [r"(a+)+$", r"(a|a)*b", r"(?:a?){30}a{30}", r"(.*)(.*)(.*)(.*)(.*)x"])
def test_the_cost_of_explosive_patterns_is_seen(source: str) -> None:
    assert cheap_length(*parse(source)) < 32


@pytest.mark.parametrize(
    "with_", ["", "-", r"<\1>", r"\g<0>\g<0>", r"\g<w>\\1", "\\n\\t", "\U000f0000\\1", r"\1\2"]
)
def test_replacements_equal_those_of_re(with_: str) -> None:
    source, text = r"(?P<w>[a-c]+)|(\d)", "abc 1 x é cab " * 30
    for limits in (PatternLimits(), ALWAYS_OTHER, ALWAYS_REGEX):
        pattern = UserPattern(source, limits=limits)
        for count in (0, 2):
            assert pattern.sub(pattern.template(with_), text, count) == re.sub(
                source, with_, text, count=count
            )


@pytest.mark.parametrize("with_", [r"\3", r"\g<no>", "\\q", r"\g<"])
def test_a_wrong_replacement_is_refused_at_once(with_: str) -> None:
    with pytest.raises((re.error, IndexError)):
        UserPattern("(a)(b)").template(with_)


def test_named_groups_have_their_names_on_every_engine() -> None:
    for limits in (PatternLimits(), ALWAYS_OTHER, ALWAYS_REGEX):
        found = UserPattern(r"(?P<year>\d{4})-(?P<day>\d\d)?", limits=limits).search("x 2026- y")
        assert found is not None
        assert found.groupdict() == {"year": "2026", "day": None}
        assert (found["year"], found[2], found.start(), found.end()) == ("2026", None, 2, 7)
