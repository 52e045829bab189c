"""Numbers, whole numbers and booleans as people write them."""

# Characters that look like others are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.numbers import NumberStep

One = Callable[..., Any]

NUMBERS: list[tuple[Any, float]] = [
    ("1,234.56", 1234.56),
    ("1.234,56", 1234.56),
    ("1 234,56", 1234.56),
    ("1\u202f234,56", 1234.56),
    ("1'234", 1234),
    ("1’234.50", 1234.5),
    ("€12.45", 12.45),
    ("12,45 EUR", 12.45),
    ("EUR12.45", 12.45),
    ("1.2k", 1200),
    ("3.5万", 35000),
    ("2亿", 200_000_000),
    ("1.1M", 1_100_000),
    ("5m", 5_000_000),
    ("5 m", 5),
    ("1.5 million", 1_500_000),
    ("１２３", 123),
    ("(12)", -12),
    ("-12", -12),
    ("−12", -12),
    ("12-", -12),
    ("-€12", -12),
    ("€ -12", -12),
    ("12%", 12),
    ("12,-", 12),
    ("+7", 7),
    ("1,234", 1234),
    ("1.234", 1.234),
    ("1,234,567", 1234567),
    ("1.234.567", 1234567),
    ("1,23,45,678", 12345678),
    ("0,123", 0.123),
    ("0.5", 0.5),
    (".5", 0.5),
    ("1e5", 100_000),
    ("1.5e-3", 0.0015),
    ("1,234 reviews", 1234),
    ("约12人", 12),
    ("10kg", 10),
    ("¥3.5万元", 35000),
    ("R$ 1.234,50", 1234.5),
    ("٣٤٥", 345),
    ("٣٫٥", 3.5),
    (" 12 ", 12),
    (7, 7),
    (7.5, 7.5),
    ("12,5", 12.5),
    ("1234,567", 1234.567),
    ("1 234 567", 1234567),
    ("9223372036854775807", 2**63 - 1),
    ("1.899 €", 1899),
    ("R$ 1.025", 1025),
    ("Rp 169.000", 169_000),
    ("12.500 ₫", 12_500),
    ("200.000 đ", 200_000),
    ("$44.900", 44_900),
    ("€0.899", 0.899),
    ("$1234.567", 1234.567),
    ("KWD 1.250", 1.25),
    ("12,500 DT", 12.5),
    ("12.500 د.ك.", 12.5),
    ("1.234 FCFA", 1234),
    ("-RD$1,234.50", -1234.5),
    ("1،234٫50", 1234.5),
    ("1,250 €", 1250),
    ("Rs1,599.00", 1599.0),
    ("Rs.750", 750),
    ("RM50", 50),
    ("R8,499", 8499),
    ("1.299,-", 1299),
    ("1'299.-", 1299),
    ("1.198,- Kr", 1198),
    ("$ SGD4.90", 4.9),
    ("$119. 95", 119.95),
    ("118, 99 TL", 118.99),
    ("35€ 99", 35.99),
    ("$.750.30", 750.3),
    ("129.900", 129_900),
    ("205,68 € 205.68", 205.68),
    ("AED 8000 (USD 2179)", 8000),
    ("4.5 (123)", 4.5),
    ("129,00 € (-15%)", 129.0),
    ("129,00 € -15%", 129.0),
    ("4.5 out of 5 stars", 4.5),
    ("Free!", 0),
    ("- $44.99", 44.99),
    ("-$44.99", -44.99),
    ("- 12", -12),
    ("免费", 0),
    ("1.234 million", 1_234_000),
    ("1.234%", 1.234),
]
NOT_NUMBERS: list[Any] = [
    "",
    " ",
    "abc",
    "N/A",
    "-",
    "NaN",
    "Infinity",
    "1e400",
    "1e99999",
    float("nan"),
    float("inf"),
    2**63,
    "9" * 30,
    "B12",
    "A-12",
    "v1.2.3",
    "3 for 10",
    "£1–£2",
    "12:30",
    "2026-01-03",
    "1,2,3",
    "12 34",
    "1.234.56",
    True,
    {},
    [],
    "1" * 201,
    "\ud800",
    "0x1F",
    "R16",
    "3, 12",
    "Chapter 3. 12 pages",
    "3,49 zł 1,75 zł",
    "From 26 to 50 €",
    "4 / 5",
    "freedom",
    "½",
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_a_number_is_read_as_it_is_meant(one: One, text: Any, expected: float) -> None:
    value = one("number", text)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_is_not_one_number_is_none(one: One, text: Any) -> None:
    assert isinstance(one("number", text), StepFailed)


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("de", "1.234", 1234),
        ("de", "1,234", 1.234),
        ("de_DE.UTF-8", "1.234,5", 1234.5),
        ("de-CH", "1'234.5", 1234.5),
        ("en-US", "1,234", 1234),
        ("en", "1.234", 1.234),
        ("fr", "1 234,5", 1234.5),
        ("zh", "1,234", 1234),
    ],
)
def test_a_locale_decides_what_a_separator_means(one: One, locale: str, text: str, expected: float) -> None:
    assert one("number", text, locale=locale) == expected


@pytest.mark.parametrize(("locale", "text"), [("de", "12.45"), ("en", "12,45"), ("de", "1,234,567")])
def test_a_number_that_contradicts_its_locale_is_none(one: One, locale: str, text: str) -> None:
    assert isinstance(one("number", text, locale=locale), StepFailed)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("€12", "EUR"),
        ("$12", "USD"),
        ("US$12", "USD"),
        ("HK$12", "HKD"),
        ("￥12", "CNY"),
        ("12元", "CNY"),
        ("12 zł", "PLN"),
        ("£12", "GBP"),
        ("12 usd", "USD"),
        ("RMB 12", "CNY"),
        ("1200円", "JPY"),
        ("CHF 12", "CHF"),
        ("12 руб.", "RUB"),
        ("12", None),
        ("12 TRYING", None),
        ("12 kr", None),
        ("$ SGD 12", "SGD"),
        ("Rs 12", "INR"),
        ("12 đ", "VND"),
        ("RD$12", None),
        ("CN¥12", "CNY"),
        ("12 FCFA", None),
        ("12 د.إ.", "AED"),
        ("TOP 12", None),
        ("12 kg", None),
    ],
)
def test_the_currency_goes_into_a_field_of_its_own(run: Any, text: str, code: str | None) -> None:
    done = run([{"use": "number", "fields": ["price"], "currency": "money"}], {"price": text})
    assert done.items[0]["money"] == code
    assert done.items[0]["price"] in (12, 1200)


def test_the_yen_sign_is_the_yen_in_japanese(run: Any) -> None:
    done = run([{"use": "number", "locale": "ja", "currency": True}], {"p": "¥1,200"})
    assert done.items == [{"p": 1200, "p_currency": "JPY"}]


def test_a_currency_code_refuses_other_currencies(one: One) -> None:
    assert one("number", "12 €", currency="EUR") == 12
    assert one("number", "12", currency="EUR") == 12
    assert one("number", "$12", currency="EUR").reason == "is not in EUR"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("12", 12), ("12.0", 12), (12.0, 12), ("1,234", 1234), ("2.5k", 2500), ("3万", 30000)],
)
def test_an_integer_is_whole(one: One, value: Any, expected: int) -> None:
    found = one("integer", value)
    assert (found, type(found)) == (expected, int)


@pytest.mark.parametrize("value", ["12.5", 12.5, 1e300, "abc", True, float("nan")])
def test_what_is_not_whole_is_no_integer(one: One, value: Any) -> None:
    assert isinstance(one("integer", value), StepFailed)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Yes", True),
        (" NO ", False),
        ("是", True),
        ("否", False),
        (1, True),
        (0.0, False),
        (True, True),
        ("✓", True),
        ("ＯＮ", True),
        ("off", False),
    ],
)
def test_yes_and_no_in_many_spellings(one: One, value: Any, expected: bool) -> None:
    assert one("boolean", value) is expected


@pytest.mark.parametrize("value", ["maybe", 2, "", [], "yes and no"])
def test_what_is_neither_yes_nor_no_is_no_boolean(one: One, value: Any) -> None:
    assert isinstance(one("boolean", value), StepFailed)


COLUMNS: list[tuple[list[Any], list[Any]]] = [
    (["1.899", "1.234,50"], [1899, 1234.5]),
    (["1.899", "12.5"], [1.899, 12.5]),
    (["1.899", "1.234.567"], [1899, 1234567]),
    (["1.899", "0.5"], [1.899, 0.5]),
    (["1,234", "12,5"], [1.234, 12.5]),
    (["1,234", "12.5"], [1234, 12.5]),
    (["1.299 €", "9.99 €"], [1.299, 9.99]),
    (["1.299 €", "9,99 €"], [1299, 9.99]),
    (["1.234", "987", "12"], [1234, 987, 12]),
    (["1.234", "12345"], [1.234, 12345]),
    (["1.234", "5"], [1.234, 5]),
    (["1.500", "1.234"], [1.5, 1.234]),
    (["89.990", "44.900"], [89_990, 44_900]),
    (["1.234", "12.5", "12,5"], [1.234, 12.5, 12.5]),
    (["1.234", None, "n/a", "2.500,00"], [1234, None, None, 2500.0]),
    ([["1.234", "2.500,00"], ["3.456"]], [[1234, 2500.0], [3456]]),
]


@pytest.mark.parametrize(("texts", "expected"), COLUMNS)
def test_the_other_values_of_a_field_show_what_its_marks_mean(
    run: Any, texts: list[Any], expected: list[Any]
) -> None:
    rows = [{"p": text, "q": "x"} for text in texts]
    done = run([{"use": "number", "fields": ["p"]}], *rows)
    assert [item["p"] for item in done.items] == expected
    done = run([{"use": "number", "fields": ["p"], "currency": "money"}], *rows)
    assert [item["p"] for item in done.items] == expected
    done = run([{"use": "number", "fields": ["o.p"]}], *[{"o": row} for row in rows])
    assert [item["o"]["p"] for item in done.items] == expected
    done = run([{"use": "number", "fields": ["p"], "locale": "en"}], {"p": "1.899"}, {"p": "1,234.50"})
    assert [item["p"] for item in done.items] == [1.899, 1234.5]


def test_pages_are_judged_one_by_one(run: Any) -> None:
    step = [{"use": "number"}]
    assert run(step, {"p": "1.899"}, {"p": "1,50"}).items[0] == {"p": 1899}
    assert run(step, {"p": "1.899"}, {"p": "1.50"}).items[0] == {"p": 1.899}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "1.899", 1899),
        ("de-CH", "1.899", 1.899),
        ("en", "1.899", 1.899),
        ("de", "1,899", 1.899),
        ("de", "1,899 €", 1899),
        ("xx", "1.899", 1.899),
        (None, "1.899", 1.899),
    ],
)
def test_the_language_of_the_page_comes_next(language: str | None, text: str, expected: float) -> None:
    context = PageContext("", "", 0, language)
    assert NumberStep().for_column([text], context).apply(text, context) == expected


def test_a_whole_number_has_no_decimals(run: Any) -> None:
    done = run(["integer"], {"n": "1.234 reviews"}, {"n": "56"})
    assert [item["n"] for item in done.items] == [1234, 56]
    assert done.counts["pipeline[0] integer"].unsure == 0
    done = run(["integer"], {"n": "1.234"}, {"n": "5.6"})
    assert [item["n"] for item in done.items] == [None, None]


def test_a_guess_is_counted_and_noted(run: Any) -> None:
    done = run(["number"], {"n": "1.234"}, {"n": "5.678"}, {"n": "9"}, logs=True)
    assert [item["n"] for item in done.items] == [1.234, 5.678, 9]
    assert done.counts["pipeline[0] number"].unsure == 2
    assert [change.note.partition(":")[0] for change in done.changes] == ["unsure", "unsure", ""]


@pytest.mark.parametrize("texts", [["1.234", "5,6"], ["1.234 €"], ["1,234"], ["1.5"], ["1.234", "987"]])
def test_nothing_is_noted_where_the_meaning_is_known(run: Any, texts: list[str]) -> None:
    done = run(["number"], *[{"n": text} for text in texts], logs=True)
    assert done.counts["pipeline[0] number"].unsure == 0
    assert {change.note for change in done.changes} == {""}


@given(st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-(2**63) + 1, 2**63 - 1))
def test_a_number_passes_unchanged(number: float) -> None:
    assert NumberStep().apply(number, PageContext("", "", 0)) == number


@given(st.integers(-(10**15), 10**15))
def test_a_grouped_number_is_read_back(number: int) -> None:
    assert NumberStep().apply(f"{number:,}", PageContext("", "", 0)) == number
    assert NumberStep(locale="de").apply(f"{number:,}".replace(",", "."), PageContext("", "", 0)) == number


@given(st.text(alphabet="0123456789.,' -+()eEkM万€$%ab\u00a0", max_size=30))
def test_reading_numbers_twice_changes_nothing_more(text: str) -> None:
    step, nowhere = NumberStep(), PageContext("", "", 0)
    try:
        once = step.apply(text, nowhere)
    except StepFailed:
        return
    assert step.apply(once, nowhere) == once
