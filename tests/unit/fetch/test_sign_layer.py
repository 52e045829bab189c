"""The layer `sign`, checked by servers that compute each signature themselves."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa

from smartspider.core.errors import LayerFailed, TaskInvalid
from smartspider.fetch.layers import compile_layers

KEY = "k3y-of-the-api"
SIGN = {"use": "sign", "algorithm": "hmac-sha256", "key": "${KEY}", "headers": {"X-Sign": "{signature}"}}


def pem(key: Any) -> str:
    """Return a private key in PEM."""
    form = serialization.PrivateFormat.PKCS8
    text: bytes = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return text.decode()


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


async def sent(net: Any, options: dict[str, Any], path: str = "/", secret: str = KEY, **extras: Any) -> Any:
    """Return the request that a server sees."""
    async with net.serve(net.http(b"ok")) as server:
        stack = net.stack(layers=[options], secrets={"KEY": secret}, trusted=[server.url])
        async with stack as fetcher:
            page = await fetcher.fetch(net.exchange(net.asks(f"{server.url}{path}", **extras)))
    assert page.url == f"{server.url}{path}"
    (seen,) = server.seen
    return seen


def mac(text: str, name: str = "sha256", key: str = KEY) -> bytes:
    return hmac.new(key.encode(), text.encode(), getattr(hashlib, name)).digest()


async def test_a_signature_covers_the_parts_of_the_request_and_the_values_beside_it(net: Any) -> None:
    net.clock.at = 1_700_000_000.25
    headers = {"X-Time": "{time}", "X-Nonce": "{nonce}", "Authorization": "App 7:{signature}"}
    text = (
        "{method}\n{scheme}://{host}{path}\n{query}\n{header:X-Time}\n{time}\n{nonce}\n{body}\n{body_sha256}"
    )
    options = {**SIGN, "text": text, "headers": headers, "time": "ms", "encoding": "base64"}
    seen = await sent(net, options, "/a/b?b=2&a-b=1&a=%2B1&b=1", method="POST", body=b'{"q": 1}')
    digest = hashlib.sha256(b'{"q": 1}').hexdigest()
    at, nonce = "1700000000250", seen.headers["x-nonce"]
    place = f"http://{seen.headers['host']}/a/b"
    expected = mac(f"POST\n{place}\na=%2B1&a-b=1&b=1&b=2\n{at}\n{at}\n{nonce}\n" + '{"q": 1}' + f"\n{digest}")
    assert seen.headers["authorization"] == f"App 7:{base64.b64encode(expected).decode()}"
    assert (seen.headers["x-time"], len(nonce)) == (at, 32)


async def test_a_signature_goes_into_the_query_or_the_json_body_after_all_that_it_covers(net: Any) -> None:
    options = {**SIGN, "text": "{query}{body}", "headers": {}, "encoding": "base64"}
    query = {**options, "query": {"sign": "{signature}", "ts": "{time}"}}
    seen = await sent(net, query, "/p?z=1&sign=old")
    expected = base64.b64encode(mac("sign=old&ts=1000000&z=1")).decode()
    assert parse_qsl(seen.target.partition("?")[2]) == [("z", "1"), ("sign", expected), ("ts", "1000000")]
    body = {**options, "json": {"sign": "{signature}", "ts": "{time}"}}
    seen = await sent(net, body, method="POST", body=b'{"q":"\xe8\x8c\xb6"}')
    covered = '{"q":"茶","ts":"1000000"}'
    assert json.loads(seen.body) == {**json.loads(covered), "sign": base64.b64encode(mac(covered)).decode()}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"algorithm": "hmac-sha1"}, mac("1000000", "sha1").hex()),
        ({"algorithm": "hmac-md5", "encoding": "HEX"}, mac("1000000", "md5").hex().upper()),
        ({"algorithm": "hmac-sha512"}, mac("1000000", "sha512").hex()),
        ({"time": "iso"}, mac("1970-01-12T13:46:40Z").hex()),
        (
            {"algorithm": "md5", "key": "", "text": "a{time}${KEY}"},
            hashlib.md5(b"a1000000" + KEY.encode()).hexdigest(),
        ),
        (
            {"algorithm": "sha1", "key": "", "text": "$${KEY} {}${KEY}"},
            hashlib.sha1(b"${KEY} {}" + KEY.encode()).hexdigest(),
        ),
    ],
)
async def test_each_digest_signs_as_its_definition_says(
    net: Any, options: dict[str, Any], expected: str
) -> None:
    seen = await sent(net, {**SIGN, "text": "{time}", **options})
    assert seen.headers["x-sign"] == expected


async def test_a_key_may_be_written_as_hex_or_base64(net: Any) -> None:
    for encoding, written in (
        ("hex", KEY.encode().hex()),
        ("base64", base64.b64encode(KEY.encode()).decode()),
    ):
        options = {**SIGN, "text": "{path}", "key_encoding": encoding}
        assert (await sent(net, options, secret=written)).headers["x-sign"] == mac("/").hex()


@pytest.mark.parametrize(
    ("algorithm", "pad", "hashed"),
    [
        ("rsa-sha256", lambda _: padding.PKCS1v15(), hashes.SHA256()),
        ("rsa-sha1", lambda _: padding.PKCS1v15(), hashes.SHA1()),
        ("rsa-pss-sha512", lambda h: padding.PSS(padding.MGF1(h), h.digest_size), hashes.SHA512()),
    ],
)
async def test_rsa_signatures_are_verified_by_the_public_key(
    net: Any, rsa_key: rsa.RSAPrivateKey, algorithm: str, pad: Callable[..., Any], hashed: Any
) -> None:
    options = {**SIGN, "algorithm": algorithm, "text": "{path}", "encoding": "base64"}
    one_line = pem(rsa_key).replace("\n", "\\n")
    signature = base64.b64decode((await sent(net, options, "/p", one_line)).headers["x-sign"])
    rsa_key.public_key().verify(signature, b"/p", pad(hashed), hashed)


async def test_ed25519_signatures_are_verified_by_the_public_key(net: Any) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    options = {**SIGN, "algorithm": "ed25519", "text": "{path}", "encoding": "base64url"}
    signature = (await sent(net, options, "/p", pem(key))).headers["x-sign"]
    key.public_key().verify(base64.urlsafe_b64decode(signature + "=="), b"/p")


async def test_each_hop_is_signed_anew(net: Any) -> None:
    def answer(seen: Any, writer: Any) -> Any:
        good = hmac.compare_digest(seen.headers["x-sign"], mac(seen.target + seen.headers["x-nonce"]).hex())
        assert good, seen.target
        is_old = seen.target == "/old"
        writer.write(net.http(b"", "302 Found", Location="/new") if is_old else net.http(b"new"))
        return net.clock.sleep(0)

    options = {**SIGN, "text": "{path}{nonce}", "headers": {"X-Sign": "{signature}", "X-Nonce": "{nonce}"}}
    async with net.serve(answer) as server:
        stack = net.stack(layers=[options], secrets={"KEY": KEY}, trusted=[server.url])
        async with stack as fetcher:
            page = await fetcher.fetch(net.exchange(net.asks(f"{server.url}/old")))
    assert (page.body, page.hops) == (b"new", (f"{server.url}/old",))
    assert len({seen.headers["x-nonce"] for seen in server.seen}) == 2


async def test_a_field_of_a_body_that_is_no_json_is_refused(net: Any) -> None:
    options = {**SIGN, "text": "{path}", "headers": {}, "json": {"sign": "{signature}"}}
    for body in (b"a=1", None):
        with pytest.raises(LayerFailed, match="the request has no JSON object as its body"):
            await sent(net, options, method="POST", body=body)


@pytest.mark.parametrize(
    ("options", "path", "message", "hint"),
    [
        (
            {"key": "s3cret"},
            ".key",
            "a key is a secret, which a task does not hold",
            "smartspider secret set",
        ),
        ({"key": ""}, ".key", "the key 'key' is missing", "${NAME}"),
        ({"algorithm": "md5"}, ".key", "md5 has no key", "name the secret in text"),
        ({"text": "{metod}"}, ".text", "there is nothing named {metod}", "did you mean {method}?"),
        ({"text": "{header}"}, ".text", "{header} names no header", "{header:Date}"),
        ({"text": "{body_md5:b64}"}, ".text", "there is no encoding 'b64'", "base64"),
        ({"headers": {"X": "{time}"}}, "", "the signature is put nowhere", '"headers"'),
        ({"headers": {"X Y": "{signature}"}}, ".headers.X Y", '"X Y" is not a header name', "letters"),
        (
            {"headers": {"Content-Length": "{signature}"}},
            ".headers.Content-Length",
            "Content-Length says",
            "body",
        ),
        ({"headers": {"X": "{sig}"}}, ".headers.X", "there is nothing named {sig}", "known: method"),
        ({"algorithm": "hmac-sha3"}, ".algorithm", '"hmac-sha3" is invalid', ""),
        ({"time": "us"}, ".time", '"us" is invalid', ""),
    ],
)
def test_wrong_options_are_named_with_what_to_write(
    options: dict[str, Any], path: str, message: str, hint: str
) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([{**SIGN, "text": "{path}", **options}], ["default"])
    (problem,) = caught.value.problems
    assert problem.path == f"layers[0]{path}"
    assert problem.message.startswith(message)
    assert hint in problem.hint
    assert "s3cret" not in problem.line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "rsa-sha256"}, "the secret KEY is no private key in PEM"),
        ({"algorithm": "ed25519"}, "the secret KEY is no private key in PEM"),
        ({"key_encoding": "hex"}, "the secret KEY is not hex"),
    ],
)
def test_a_secret_that_is_no_key_is_named_without_its_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([{**SIGN, "text": "{path}", **options}], ["default"], {"KEY": KEY})
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == ("layers[0].key", message)
    assert KEY not in problem.line
