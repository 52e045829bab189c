"""A filter never denies what was added, and errs seldom on what was not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from smartspider.dedup.bloom import (
    LARGEST_CAPACITY,
    PROMISED_ERRORS,
    BloomFilter,
    ScalableBloomFilter,
    bits_of,
    capacity_of,
    size_of,
)
from smartspider_testing.contracts.url_filter import fingerprints

FINGERPRINT = st.binary(min_size=16, max_size=16)


@given(st.lists(FINGERPRINT, max_size=50), FINGERPRINT)
def test_what_was_added_is_in(added: list[bytes], other: bytes) -> None:
    bloom = BloomFilter(bytearray(size_of(64)))
    for one in added:
        bloom.add(one)
    assert all(one in bloom for one in added)
    assert added or other not in bloom


@given(FINGERPRINT)
def test_sixteen_bits_of_one_block_stand_for_a_fingerprint(one: bytes) -> None:
    bits = bits_of(one)
    assert len(bits) == 16
    assert all(0 <= bit < 1024 for bit in bits)
    bloom = bytearray(size_of(96))
    BloomFilter(bloom).add(one)
    touched = [place for place, byte in enumerate(bloom) if byte]
    assert len({place // 128 for place in touched}) == 1
    assert sum(byte.bit_count() for byte in bloom) == len(set(bits))


def test_errors_stay_below_the_promise_when_all_filters_are_full() -> None:
    bloom = ScalableBloomFilter(1024)
    full = 1024 + 4096 + 16_384
    assert bloom.add(fingerprints(0, full))[1] == 0
    assert bloom.newest >= 16_384 - 5
    wrong = bloom.find_known(fingerprints(10_000_000, 10_200_000))
    assert len(wrong) / 200_000 < PROMISED_ERRORS


def test_filters_grow_fourfold_up_to_a_bound() -> None:
    assert [capacity_of(number, 1000) for number in range(3)] == [1024, 4000, 16_000]
    assert capacity_of(30, 1000) == capacity_of(31, 1000) == LARGEST_CAPACITY
    assert capacity_of(0, 40_000_000) == capacity_of(5, 40_000_000) == 40_000_000
    assert size_of(1_000_000) == 4_000_000


def test_what_does_not_fit_is_refused_and_not_known() -> None:
    bloom = ScalableBloomFilter(1024, lambda number, size: bytearray(size) if number == 0 else None)
    given = fingerprints(0, 3000)
    added, refused = bloom.add(given)
    assert added == 1024
    assert added + refused >= 2990
    assert bloom.find_known(given[:1024]) == set(given[:1024])
    assert len(bloom.find_known(given)) <= 1024 + 10
    assert bloom.bytes_used == 4096


def test_a_filter_goes_on_where_it_was() -> None:
    made: list[bytearray] = []

    def allocate(_number: int, size: int) -> bytearray:
        made.append(bytearray(size))
        return made[-1]

    first = ScalableBloomFilter(1024, allocate)
    first.add(fingerprints(0, 2000))
    second = ScalableBloomFilter(1024, allocate)
    second.open(made, first.newest)
    assert second.find_known(fingerprints(0, 2000)) == set(fingerprints(0, 2000))
    assert (second.newest, second.bytes_used) == (first.newest, first.bytes_used)
    second.add(fingerprints(2000, 2010))
    assert len(made) == 2
