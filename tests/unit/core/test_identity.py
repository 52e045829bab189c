"""The identity of a request and of an item."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from smartspider.core.requests.request import (
    FINGERPRINT_VERSION,
    Extras,
    content_fingerprint,
    fingerprint,
    make_request,
    variant_of,
)
from smartspider.core.requests.urls import CanonicalRules

URL = "http://shop.example/list?page=2"
PARTS = st.tuples(
    st.sampled_from(["http://h/", "http://h/a", "http://h/a?b"]),
    st.sampled_from(["GET", "POST", "PUT"]),
    st.binary(max_size=6),
    st.lists(
        st.tuples(st.sampled_from(["accept", "x-a"]), st.text("ab:\r0", max_size=3)), max_size=2, unique=True
    ).map(tuple),
)


def test_the_fingerprints_of_this_version_never_change() -> None:
    # Stored rows carry these bytes: another value needs another VERSION and a migration.
    assert FINGERPRINT_VERSION == 1
    assert fingerprint(URL).hex() == "a6db8aeb9498be3dbea3f2a3b9280932"
    posted = fingerprint(URL, method="POST", body=b"a=1", headers=(("Accept", "text/html"),))
    assert posted.hex() == "6640dc08b3e6de56d62b4028ef5cf1fa"
    assert content_fingerprint(b'{"a":1}').hex() == "b7725e70516884d28a608fda21df34d2"


def test_the_parts_cannot_flow_into_each_other() -> None:
    prints = {
        fingerprint("http://h/a"),
        fingerprint("http://h/", method="POST"),
        fingerprint("http://h/", body=b"POST"),
        fingerprint("http://h/", method="POST", body=b"4:POST"),
        fingerprint("http://h/", method="POST", body=b"a"),
        fingerprint("http://h/", method="POSTa"),
        fingerprint("http://h/", body=b"a:b"),
        fingerprint("http://h/", headers=(("a", "b"),)),
        fingerprint("http://h/", headers=(("a", ""), ("b", ""))),
    }
    assert len(prints) == 9


@given(PARTS, PARTS)
def test_different_requests_have_different_fingerprints(
    one: tuple[str, str, bytes, tuple[tuple[str, str], ...]],
    other: tuple[str, str, bytes, tuple[tuple[str, str], ...]],
) -> None:
    assume((*one[:3], sorted(one[3])) != (*other[:3], sorted(other[3])))
    assert _of(one) != _of(other)


def _of(parts: tuple[str, str, bytes, tuple[tuple[str, str], ...]]) -> bytes:
    return fingerprint(parts[0], method=parts[1], body=parts[2], headers=parts[3])


def test_the_order_of_headers_and_the_case_of_their_names_do_not_matter() -> None:
    one = fingerprint(URL, headers=(("Accept", "a"), ("X-B", "c")))
    assert one == fingerprint(URL, headers=(("x-b", "c"), ("ACCEPT", "a")))
    assert one != fingerprint(URL, headers=(("Accept", "A"), ("X-B", "c")))


def test_no_body_and_an_empty_one_are_the_same_request() -> None:
    assert fingerprint(URL, body=b"") == fingerprint(URL)


def test_an_item_and_a_request_never_share_a_fingerprint() -> None:
    assert content_fingerprint(URL.encode()) != fingerprint(URL)


def test_the_variant_is_part_of_the_identity_and_nothing_else_of_headers_and_meta() -> None:
    plain = make_request(URL)
    extras = Extras(headers=(("Accept", "a"),), meta={"a": 1})
    assert make_request(URL, extras=extras).fingerprint == plain.fingerprint
    variant = variant_of(extras.headers, extras.meta)
    assert make_request(URL, extras=Extras(variant=variant)).fingerprint != plain.fingerprint
    assert variant == variant_of((("ACCEPT", "a"),), {"a": 1})
    others = [variant_of((("Accept", "A"),), {"a": 1}), variant_of(extras.headers), variant_of((), {"a": 1})]
    assert len({variant, *others}) == 4


def test_requests_that_mean_one_page_have_one_fingerprint() -> None:
    one = make_request("http://h/?b=2&a=1&utm_source=x")
    other = make_request("http://h/?a=1&b=2", page="detail", priority=7, depth=3, is_entry=True)
    assert one.fingerprint == other.fingerprint
    assert one.url == "http://h/?b=2&a=1&utm_source=x"
    assert (other.host, other.page, other.priority, other.depth) == ("h", "detail", 7, 3)


def test_what_a_request_asks_for_is_part_of_its_identity() -> None:
    get = make_request("http://h/")
    post = make_request("http://h/", extras=Extras(method="POST", body=b"q=1"))
    again = make_request("http://h/", extras=Extras(method="POST", body=b"q=2"))
    noted = make_request("http://h/", extras=Extras(meta={"a": 1}))
    assert len({get.fingerprint, post.fingerprint, again.fingerprint}) == 3
    assert noted.fingerprint == get.fingerprint


def test_the_rules_of_the_task_decide_what_is_the_same() -> None:
    rules = CanonicalRules(frozenset({"sid"}))
    assert make_request("http://h/?sid=1", rules=rules).fingerprint == make_request("http://h/").fingerprint
    assert make_request("http://h/?sid=1").fingerprint != make_request("http://h/").fingerprint
