"""Nothing of a frontier's URL is repeated, wherever a secret ended up in it."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.backends.redis.address import read_url
from smartspider.core.errors import SettingInvalid

SECRET = "s3cretpw"
SCHEMES = ("redis://", "rediss://", "redis+sentinel://", "redis+cluster://")
MARKS = st.text("#/?@:,[]%&=;℀²\\ \t\n.-{}12ab", max_size=4)


def told(url: str) -> str:
    """All that a person could see of it: what is said and shown, or why it is refused, with its way there."""
    try:
        address = read_url(url)
    except SettingInvalid as error:
        return f"{error.message} {error.hint} {''.join(traceback.format_exception_only(error))}"
    return f"{address!r} {address.shown} {address.url}"


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:s3cretpw#x@h",
        "redis://u:s3cretpw/x@h",
        "redis://u:12/s3cretpw@h",
        "redis+sentinel://u:12/s3cretpw@h",
        "redis://u:12?namespace=s3cretpw@h",
        "redis://:pa?s3cretpw@h",
        "redis://u:12#s3cretpw@h",
        "redis://u:s3cretpw",
        "redis://h?s3cretpw",
        "redis://h?tls=s3cretpw",
        "rediss://u:1?ssl_ca_certs=s3cretpw@h",
        "rediss://h?sentinel_password=s3cretpw",
        "redis+sentinel://h?sentinel_password=s3cretpw",
        "redis://h/s3cretpw",
    ],
)
def test_what_is_refused_is_not_repeated(url: str) -> None:
    with pytest.raises(SettingInvalid):
        read_url(url)
    assert SECRET not in told(url)


@settings(deadline=None)
@given(
    scheme=st.sampled_from(SCHEMES),
    before=MARKS,
    after=MARKS,
    rest=st.sampled_from(
        [
            "@h",
            "@h?ssl_ca_certs=/ca.pem",
            "@h/m?sentinel_password=s3cretpw",
            "@h:1/2",
            "@[::1]:7",
            "@h/main?db=1",
            "@h,i:9/m?tls=1",
            "@",
        ]
    ),
)
def test_a_password_is_never_shown_whatever_is_around_it(
    scheme: str, before: str, after: str, rest: str
) -> None:
    assert SECRET not in told(f"{scheme}u:{before}{SECRET}{after}{rest}")


@pytest.mark.parametrize(
    "url",
    [
        "redis://[::1",
        "redis://h:²",
        "redis://h:70000",
        "redis://h/²",
        "redis://h?db=" + "9" * 5000,
        "redis://a b",
    ],
)
def test_what_is_no_server_is_refused_in_words(url: str) -> None:
    with pytest.raises(SettingInvalid, match="cannot be read"):
        read_url(url)


@pytest.mark.parametrize("value", ["yes", "true", "on", "", "2"])
def test_tls_is_not_left_out_by_another_word_for_yes(value: str) -> None:
    with pytest.raises(SettingInvalid, match="tls is 1 or 0"):
        read_url(f"redis+cluster://h?tls={value}")
    assert not read_url("redis+cluster://h?tls=0").is_tls


@pytest.mark.parametrize("name", ["", "a:b", "{x}"])
def test_a_namespace_that_could_reach_into_another_is_refused(name: str) -> None:
    with pytest.raises(SettingInvalid, match="namespace"):
        read_url(f"redis://h?namespace={name}")


def test_a_password_may_have_any_letter() -> None:
    assert read_url("redis://u:s3℀pw@h").password == "s3℀pw"
    assert read_url("redis://u:a%2Fb%23c%3Fd%40e%3Af@h").password == "a/b#c?d@e:f"
