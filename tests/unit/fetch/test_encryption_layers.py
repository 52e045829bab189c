"""The layers `encrypt` and `decrypt`, checked by servers that decrypt and encrypt themselves."""

from __future__ import annotations

import base64
import gzip
import json
import os
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from smartspider.core.errors import LayerFailed, TaskInvalid
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.layers import compile_layers

KEY, IV = "0123456789abcdef", "fedcba9876543210"


def cbc(plain: bytes, iv: bytes = IV.encode(), key: bytes = KEY.encode()) -> bytes:
    """AES-CBC with PKCS #7, from its definition."""
    count = 16 - len(plain) % 16
    stream = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return stream.update(plain + bytes([count]) * count) + stream.finalize()


def from_cbc(message: bytes, iv: bytes = IV.encode()) -> bytes:
    stream = Cipher(algorithms.AES(KEY.encode()), modes.CBC(iv)).decryptor()
    plain = stream.update(message) + stream.finalize()
    return plain[: -plain[-1]]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


async def exchanged(
    net: Any,
    options: dict[str, Any],
    answer: bytes = b"ok",
    secret: str = KEY,
    max_bytes: int = 1_000_000,
    **extras: Any,
) -> tuple[Any, Any]:
    """Return the request that a server sees, and the page."""
    response = net.http(answer, X_IV=b64(IV.encode()))
    async with net.serve(response) as server:
        layers = [{"key": "${KEY}", **options}]
        plan = FetchPlan(max_bytes=max_bytes)
        stack = net.stack(plan, layers=layers, secrets={"KEY": secret, "IV": IV}, trusted=[server.url])
        async with stack as fetcher:
            page = await fetcher.fetch(net.exchange(net.asks(server.url, **extras)))
    (seen,) = server.seen
    return seen, page


BODY = b'{"q":"\xe8\x8c\xb6","n":1}'


@pytest.mark.parametrize("iv", ["${IV}", IV])
async def test_the_body_is_encrypted_with_the_vector_that_is_given(net: Any, iv: str) -> None:
    options = {"use": "encrypt", "cipher": "aes-cbc", "iv": iv, "encoding": "hex"}
    seen, _ = await exchanged(net, options, method="POST", body=BODY)
    assert seen.body == cbc(BODY).hex().encode()


async def test_a_random_vector_stands_before_the_message(net: Any) -> None:
    options = {"use": "encrypt", "cipher": "aes-gcm", "encoding": "raw", "gzip": True}
    sent = [(await exchanged(net, options, method="POST", body=BODY))[0].body for _ in range(2)]
    assert len({message[:12] for message in sent}) == 2
    for message in sent:
        plain = AESGCM(KEY.encode()).decrypt(message[:12], message[12:], None)
        assert gzip.decompress(plain) == BODY


async def test_a_random_vector_goes_along_in_a_header_or_a_field(net: Any) -> None:
    common = {"use": "encrypt", "cipher": "aes-cbc", "into": "data"}
    seen, _ = await exchanged(net, {**common, "iv_header": "X-Iv"}, method="POST", body=BODY)
    assert list(json.loads(seen.body)) == ["data"]
    message = base64.b64decode(json.loads(seen.body)["data"])
    assert from_cbc(message, base64.b64decode(seen.headers["x-iv"])) == BODY
    assert seen.headers["content-type"] == "application/json"
    seen, _ = await exchanged(net, {**common, "field": "q", "iv_field": "iv"}, method="POST", body=BODY)
    sent = json.loads(seen.body)
    assert (set(sent), sent["n"]) == ({"n", "data", "iv"}, 1)
    assert from_cbc(base64.b64decode(sent["data"]), base64.b64decode(sent["iv"])).decode() == "茶"


@pytest.mark.parametrize("cipher", ["rsa-oaep", "rsa-oaep-sha1", "rsa-pkcs1v15"])
async def test_rsa_encrypts_with_the_public_key_and_decrypts_with_the_private_one(
    net: Any, rsa_key: rsa.RSAPrivateKey, cipher: str
) -> None:
    hashed = hashes.SHA1() if cipher.endswith("sha1") else hashes.SHA256()
    pad: Any = padding.OAEP(padding.MGF1(hashed), hashed, None)
    pad = padding.PKCS1v15() if cipher == "rsa-pkcs1v15" else pad
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = rsa_key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()
    options = {"use": "encrypt", "cipher": cipher}
    seen, _ = await exchanged(net, options, secret=public, method="POST", body=BODY)
    assert rsa_key.decrypt(base64.b64decode(seen.body), pad) == BODY
    with pytest.raises(LayerFailed, match="300 bytes are more than the key can encrypt"):
        await exchanged(net, options, secret=public, method="POST", body=bytes(300))
    private = rsa_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    answer = b64(rsa_key.public_key().encrypt(b"[1]", pad)).encode()
    _, page = await exchanged(net, {"use": "decrypt", "cipher": cipher}, answer, secret=private)
    assert page.body == b"[1]"


async def test_a_request_without_a_body_passes_as_it_is(net: Any) -> None:
    seen, page = await exchanged(net, {"use": "encrypt", "cipher": "aes-cbc"})
    assert (seen.body, page.body) == (b"", b"ok")


@pytest.mark.parametrize(
    ("options", "body", "message"),
    [
        ({"field": "q"}, b"q=1", "the request has no JSON object as its body"),
        ({"field": "q"}, b"[1]", "the request has no JSON object as its body"),
        ({"field": "q"}, b'{"n": 1}', "the body has no field 'q'"),
    ],
)
async def test_a_body_without_the_field_is_refused(
    net: Any, options: dict[str, Any], body: bytes, message: str
) -> None:
    layer = {"use": "encrypt", "cipher": "aes-cbc", **options}
    with pytest.raises(LayerFailed, match=message):
        await exchanged(net, layer, method="POST", body=body)


PAGE = b'{"rows": ["\xe8\x8c\xb6"]}'
WRAPPED = json.dumps({"code": 0, "data": {"text": b64(cbc(PAGE)), "iv": b64(IV.encode())}}).encode()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"cipher": "aes-cbc", "iv": IV}, b64(cbc(PAGE)).encode() + b"\n"),
        ({"cipher": "aes-cbc", "iv": "${IV}", "encoding": "hex"}, cbc(PAGE).hex().upper().encode()),
        ({"cipher": "aes-cbc", "iv": IV.encode().hex(), "key_encoding": "hex"}, b64(cbc(PAGE)).encode()),
        ({"cipher": "aes-cbc", "iv_header": "X-IV"}, b64(cbc(PAGE)).rstrip("=").encode()),
        ({"cipher": "aes-cbc", "iv_header": "X-IV", "encoding": "raw"}, cbc(PAGE)),
        ({"cipher": "aes-cbc", "expr": "data.text", "iv_field": "data.iv"}, WRAPPED),
        ({"cipher": "aes-cbc", "expr": "@", "iv": IV}, json.dumps(b64(cbc(PAGE))).encode()),
        ({"cipher": "aes-cbc", "encoding": "raw"}, IV.encode() + cbc(PAGE)),
        ({"cipher": "aes-gcm", "encoding": "base64url"}, None),
        ({"cipher": "aes-cbc", "iv": IV, "gzip": True}, b64(cbc(gzip.compress(PAGE, mtime=0))).encode()),
    ],
)
async def test_the_page_is_what_the_answer_says_decrypted(
    net: Any, options: dict[str, Any], answer: bytes | None
) -> None:
    if answer is None:
        nonce = os.urandom(12)
        answer = base64.urlsafe_b64encode(nonce + AESGCM(KEY.encode()).encrypt(nonce, PAGE, None)).rstrip(
            b"="
        )
    secret = KEY.encode().hex() if options.get("key_encoding") == "hex" else KEY
    _, page = await exchanged(net, {"use": "decrypt", **options}, answer, secret)
    assert (page.body, page.media_type, page.charset) == (PAGE, "application/json", "utf-8")


@pytest.mark.parametrize(
    ("options", "answer", "message"),
    [
        ({}, b"<p>busy</p>", "the message is not base64"),
        ({}, b64(cbc(PAGE, key=bytes(16))).encode(), "the message cannot be decrypted"),
        ({}, b64(cbc(PAGE)[:-3]).encode(), "the message cannot be decrypted"),
        ({"cipher": "aes-gcm", "iv": ""}, b64(bytes(40)).encode(), "the message cannot be decrypted"),
        ({"cipher": "aes-gcm", "iv": ""}, b64(bytes(3)).encode(), "the message cannot be decrypted"),
        ({"expr": "data"}, b'{"error": 7}', "the answer has nothing at 'data'"),
        ({"expr": "data"}, b'{"data": 7}', "the message is not base64"),
        ({"expr": "data"}, b"[" * 5000, "the answer is not JSON"),
        ({"gzip": True}, b64(cbc(PAGE)).encode(), "what was decrypted is not gzip"),
        (
            {"gzip": True},
            b64(cbc(gzip.compress(bytes(5_000_000)))).encode(),
            r"it has more bytes than max_bytes allows \(1000000\) when decompressed",
        ),
    ],
)
async def test_an_answer_that_cannot_be_decrypted_is_refused(
    net: Any, options: dict[str, Any], answer: bytes, message: str
) -> None:
    layer = {"use": "decrypt", "cipher": "aes-cbc", "iv": IV, **options}
    with pytest.raises(LayerFailed, match=rf"layers\[0\] decrypt, after the answer: {message}"):
        await exchanged(net, layer, answer)


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"key": "s3cret-s3cret-16"}, ".key", "a key is a secret, which a task does not hold"),
        ({"cipher": "aes"}, ".cipher", '"aes" is invalid'),
        ({"cipher": "rsa-oaep", "iv": IV}, ".iv", "rsa-oaep has no initialization vector"),
        ({"iv": IV, "iv_header": "X-Iv"}, ".iv_header", "iv says already where it is"),
        ({"iv_header": "X:"}, ".iv_header", '"X:" is not a header name'),
        ({"iv": "short"}, ".iv", "it has 5 bytes, and aes-cbc needs 16"),
        ({"iv": IV, "key_encoding": "hex"}, ".iv", "it has 8 bytes, and aes-cbc needs 16"),
        (
            {"use": "encrypt", "into": "d", "encoding": "raw"},
            ".encoding",
            "a field of a JSON body holds text",
        ),
        ({"use": "encrypt", "iv_field": "iv"}, ".iv_field", "the body is the message, and has no fields"),
        ({"use": "decrypt", "expr": "a["}, ".expr", '"a[" is not JMESPath'),
    ],
)
def test_wrong_options_of_ciphers_are_named(options: dict[str, Any], path: str, message: str) -> None:
    layer = {"use": "decrypt", "cipher": "aes-cbc", "key": "${KEY}", **options}
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([layer], ["default"])
    (problem,) = caught.value.problems
    assert problem.path == f"layers[0]{path}"
    assert problem.message.startswith(message)
    assert "s3cret" not in problem.line


@pytest.mark.parametrize(
    ("options", "secret", "message"),
    [
        ({"cipher": "aes-cbc"}, "ten-bytes!", "the secret KEY has 10 bytes, and an AES key has 16, 24 or 32"),
        ({"cipher": "rsa-oaep"}, "no pem", "the secret KEY is no private key in PEM"),
        ({"cipher": "rsa-oaep", "use": "encrypt"}, "no pem", "the secret KEY is no public key in PEM"),
    ],
)
def test_a_secret_that_is_no_key_of_a_cipher_is_named(
    options: dict[str, Any], secret: str, message: str
) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([{"use": "decrypt", "key": "${KEY}", **options}], ["default"], {"KEY": secret})
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == ("layers[0].key", message)
