"""The index of known values."""

from __future__ import annotations

import random

import pytest

from smartspider.core.redaction.known_values import PIECE_BYTES, RecentValues, ValueIndex, replace_spans

MARK = b"#"


def found(index: ValueIndex | RecentValues, data: bytes) -> bytes:
    return replace_spans(data, index.spans(data), MARK)


@pytest.mark.parametrize("length", [4, 5, 6, 7, 8, 10, 11, 14, 15, 16, 17, 31, 63, 64])
def test_a_value_is_found_wherever_it_stands(length: int) -> None:
    value = bytes(range(65, 65 + length))
    index = ValueIndex()
    index.add(value)
    for before in range(20):
        for after in (0, 1, 9):
            data = b"." * before + value + b"." * after
            assert found(index, data) == b"." * before + MARK + b"." * after
        assert found(index, b"." * before + value[:-1]) == b"." * before + value[:-1]


@pytest.mark.parametrize("seed", range(20))
def test_the_index_finds_what_a_search_for_each_value_finds(seed: int) -> None:
    chance = random.Random(seed)

    def word(most: int) -> bytes:
        return bytes(chance.choices(b"ab", k=chance.randint(4, most)))

    values = {word(40) for _ in range(30)}
    index = ValueIndex()
    for value in values:
        index.add(value)
    for _ in range(30):
        data = b"".join(chance.choice([word(12), chance.choice(sorted(values))]) for _ in range(8))
        spans = {
            (start, start + len(value))
            for value in values
            for start in range(len(data))
            if data.startswith(value, start)
        }
        assert set(index.spans(data)) == spans


def test_long_values_are_found_as_one_and_their_pieces_as_well() -> None:
    value = bytes(random.Random(1).choices(range(48, 123), k=5 * PIECE_BYTES + 7))
    index = ValueIndex()
    index.add(value)
    assert found(index, b"a " + value + b" b") == b"a # b"
    assert found(index, b"a " + value[:PIECE_BYTES] + b" b") == b"a # b"


def test_a_prefix_stays_visible_unless_the_whole_is_a_value_too() -> None:
    index = ValueIndex()
    index.add(b"name=value", visible=5)
    assert found(index, b"?name=value&") == b"?name=#&"
    index.add(b"name=value")
    assert found(index, b"?name=value&") == b"?#&"


def test_values_that_are_added_again_outlive_the_limit_and_others_are_dropped() -> None:
    recent = RecentValues(limit=20)
    for number in range(100):
        recent.add(b"kept-value")
        recent.add(b"value-%05d" % number)
    assert found(recent, b"kept-value value-00099 value-00000") == b"# # value-00000"
