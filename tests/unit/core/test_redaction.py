"""Redaction of secrets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from smartspider.core.redaction.names import is_secret_name
from smartspider.core.redaction.redactor import REDACTED, Redactor

CANARY = "c4nary-V4lue/+x"


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PASSWORD", "db_password", "passwd", "passphrase", "secret", "client_secret"),
        *("token", "access_token", "refreshToken", "X-Auth-Token", "api_key", "apikey", "X-Api-Key"),
        *("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "cookies", "credentials"),
        *("private_key", "master_key", "jwt", "signature", "ticket", "session_id", "csrf_token", "pwd"),
    ],
)
def test_secret_names_are_known_however_they_are_written(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "author",
            "compass",
            "passenger",
            "cookie_id",
            "token_id",
            "tokens_count",
            "key",
            "keys",
            "",
            "task",
        ),
        *("secretary", "monkey", "run_id", "status", "basic", "token_expires_at", "authority"),
    ],
)
def test_harmless_names_are_left_alone(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        f"GET http://user:{CANARY}@h.example/a",
        "http://c4nary-V4lue@h.example/",
        f"http://h.example/?a=1&token={CANARY}&b=2",
        f"http://h.example/?api_key={CANARY}",
        f"http://h.example/?key={CANARY}",
        f"Authorization: Bearer {CANARY}",
        f"authorization: {CANARY} and more {CANARY}",
        f"sent Bearer {CANARY}",
        f"sent basic {CANARY}",
        f"Cookie: a=b; sid={CANARY}; c=d",
        f"'Set-Cookie': 'sid={CANARY}; Path=/'",
        f"{{'password': '{CANARY}', 'a': 1}}",
        f'{{"access_token": "{CANARY}"}}',
        f'{{"deep": {{"client_secret":"a\\"{CANARY}"}}}}',
        f"password = {CANARY}",
        f"PASSWORD={CANARY} other=1",
        f"cookies=[{{'name': 'a', 'value': '{CANARY}'}}]",
        f"tokens=['{CANARY}', 'b']",
        f"headers={{'X-Api-Key': '{CANARY}'}}",
    ],
)
def test_texts_lose_secrets_by_name_and_by_header(text: str) -> None:
    redacted = Redactor().text(text)
    assert CANARY.partition("/")[0] not in redacted
    assert REDACTED in redacted


@pytest.mark.parametrize(
    "text",
    [
        "timeout: the server took 30 s",
        "the token expired",
        "basic realm",
        "author=bob passenger=joe cookie_id=3 use_cookie=true",
        "http://h.example/catalogue?page=2&sort=price#top",
        "mail me: bob@h.example",
        "http://127.0.0.1:8000/@bob?x=a@b",
        "key=value",
        "[redacted]",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_what_stands_beside_a_secret_stays() -> None:
    text = Redactor().text(f"GET http://u:{CANARY}@h.example/a?page=2&token={CANARY}&sort=x failed: http 503")
    assert text == "GET http://[redacted]@h.example/a?page=2&token=[redacted]&sort=x failed: http 503"


@pytest.mark.parametrize(
    "encoded",
    [
        CANARY,
        "c4nary-V4lue%2F%2Bx",
        "c4nary-V4lue/%2Bx",
        "YzRuYXJ5LVY0bHVlLyt4",
    ],
)
def test_values_that_were_handed_out_are_taken_out_wherever_they_are(encoded: str) -> None:
    redactor = Redactor()
    redactor.add(CANARY, "", "abc")
    assert redactor.text(f"some {encoded} text") == "some [redacted] text"
    assert redactor.text("abc is too short to be one") == "abc is too short to be one"
    assert redactor.fields({"note": [{"deep": f"x{encoded}x"}]}) == {"note": [{"deep": "x[redacted]x"}]}
    assert redactor.fields({f"a{encoded}": 1}) == {"a[redacted]": 1}


def test_the_longest_of_several_values_goes_whole() -> None:
    redactor = Redactor(["secret-1", "secret-12345"])
    assert redactor.text("secret-12345 secret-1") == "[redacted] [redacted]"


def test_nested_values_lose_what_stands_under_secret_names() -> None:
    redacted = Redactor().fields(
        {
            "headers": {"Authorization": CANARY, "Accept": "text/html"},
            "cookies": [{"name": "sid", "value": CANARY}],
            "pin_numbers": 3,
            "token_id": 5,
            "password": 12345678,
            "is_secret": True,
            "secret": None,
            "raw": f"token={CANARY}".encode(),
            "deep": [[[{"api_key": CANARY}]]],
        }
    )
    assert CANARY not in str(redacted)
    assert redacted["headers"]["Accept"] == "text/html"
    assert (redacted["token_id"], redacted["is_secret"], redacted["secret"]) == (5, True, None)
    assert redacted["password"] == REDACTED


def test_what_goes_too_deep_or_in_circles_ends() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert REDACTED in str(Redactor().fields(circle))


def test_our_own_secrets_are_known_by_their_shape() -> None:
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJlLW9mLWl0"
    for secret in (jwt, *(f"{kind}_{'x' * 43}" for kind in ("sst", "ssr", "ssk"))):
        assert Redactor().text(f"the word {secret} slipped out") == "the word [redacted] slipped out"


@pytest.mark.parametrize(
    "evil",
    [
        "token",
        "password=",
        "cookie:",
        "a.",
        "x-",
        "basic ",
        '"token":"',
        "eyJ",
        'token="\\',
        "://a@",
        "[{'token':",
    ],
)
def test_no_text_takes_long(evil: str) -> None:
    begun = time.process_time()
    Redactor([CANARY]).text(evil * (200_000 // len(evil)))
    assert time.process_time() - begun < 0.5


def test_fifty_thousand_secrets_are_found_and_the_installations_own_are_never_dropped() -> None:
    master = "m4ster-key-of-the-installation"
    redactor = Redactor([master])
    secrets = [f"{number:05}-{number * 7919 % 99991:x}-{'z' * (number % 40)}" for number in range(50_000)]
    begun = time.process_time()
    redactor.add(*secrets)
    assert time.process_time() - begun < 50_000 * 0.0002
    for each in (*secrets[::997], secrets[0], secrets[-1], master):
        assert redactor.text(f"a {each}, b") == f"a {REDACTED}, b", each


def test_adding_the_same_secret_again_changes_nothing() -> None:
    redactor = Redactor()
    for _ in range(3):
        redactor.add(CANARY)
        assert redactor.fields({f"x{CANARY}": CANARY}) == {f"x{REDACTED}": REDACTED}


def test_the_start_of_a_secret_does_not_remain_where_a_long_text_is_cut() -> None:
    redacted = Redactor([CANARY]).text("x" * 19_990 + CANARY + "y" * 30_000)
    assert CANARY[:8] not in redacted
    assert len(redacted) < 20_100


@pytest.mark.parametrize(
    "name", ["Ocp-Apim-Subscription-Key", "x-functions-key", "X-Custom", "DD-APPLICATION"]
)
def test_values_of_headers_are_secret_unless_the_name_is_known_to_be_harmless(name: str) -> None:
    redactor = Redactor()
    redactor.add_headers(
        [(name, f"Scheme {CANARY}"), ("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate")]
    )
    assert redactor.text(f"the site says {CANARY}") == f"the site says {REDACTED}"
    assert redactor.text("text/html navigate") == "text/html navigate"


def test_parameters_of_a_task_are_redacted_behind_their_name() -> None:
    redactor = Redactor()
    for name, value in (("sv", "2024-word"), ("q", "books"), ("page", "2"), ("code", "a b/c&d")):
        redactor.add_parameter(name, value)
    text = "http://h.example/?sv=2024-word&q=books&page=2&code=a+b%2Fc%26d 2024-word"
    shown = "http://h.example/?sv=[redacted]&q=books&page=2&code=[redacted] 2024-word"
    assert redactor.text(text) == shown
    redactor.add_parameter("hdnts", "exp1731abcdEFGH2345xyz7890")
    assert redactor.text("it says exp1731abcdEFGH2345xyz7890") == "it says [redacted]"


def test_a_part_of_a_long_secret_is_redacted_wherever_it_is_cut() -> None:
    secret = "".join(chr(0x4E00 + number) for number in range(100))
    redactor = Redactor([secret])
    for start, end in ((0, 99), (1, 100), (20, 80), (0, 100)):
        redacted = redactor.text(f"a {secret[start:end]} b \ud800")
        assert REDACTED in redacted
        assert secret[30:40] not in redacted
