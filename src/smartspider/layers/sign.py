"""The layer `sign`: signs a text about each request."""

from __future__ import annotations

import hashlib
import hmac
import secrets as random_values
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal, get_args
from urllib.parse import urlsplit

import msgspec

from smartspider.core.requests.bodies import with_url_param, with_value
from smartspider.core.requests.secrets import SecretValues
from smartspider.interfaces.layer import LayerRefused, LayerRequest
from smartspider.layers.codec import TextEncoding, encode
from smartspider.layers.headers import check_header, put_header
from smartspider.layers.keys import Key, KeyEncoding
from smartspider.layers.template import Template
from smartspider.plugins.options import InvalidOption

Digest = Literal["md5", "sha1", "sha256", "sha512"]
Algorithm = Literal[
    "hmac-sha256", "hmac-sha1", "hmac-sha512", "hmac-md5",
    "rsa-sha256", "rsa-sha1", "rsa-sha512", "rsa-pss-sha256", "rsa-pss-sha512", "ed25519",
    "md5", "sha1", "sha256", "sha512",
]  # fmt: skip
"""`rsa-...` is PKCS #1 v1.5. A plain digest takes no key: its text holds the secret."""

DIGESTS: tuple[str, ...] = get_args(Digest)
ENCODINGS: tuple[str, ...] = get_args(TextEncoding)
PARTS = (
    *("method", "scheme", "host", "path", "query", "url", "header", "body", "time", "nonce"),
    *(f"body_{digest}" for digest in DIGESTS),
)
"""The names that a text may hold; `{query}` is sorted by name and value."""
SIGNATURE = "signature"

_Put = Callable[[LayerRequest, str, str], LayerRequest]
"""Puts a value into a place of a request, by its name."""


class SignLayer:
    """Signs `text`, and puts the signature and other values into headers, parameters of the query and fields
    of the JSON body. Those without the signature are put first, so the text can hold them.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        text: str,
        *,
        key: str = "",
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        json: dict[str, str] | None = None,
        encoding: TextEncoding = "hex",
        key_encoding: KeyEncoding = "text",
        time: Literal["s", "ms", "iso"] = "s",
        secrets: SecretValues | None = None,
    ) -> None:
        self._encoding, self._time = encoding, time
        self._sign = _signer(algorithm, key, key_encoding, secrets)
        self._text = _template("text", text, PARTS, secrets)
        known = (*PARTS, SIGNATURE)
        for name in headers or {}:
            check_header(f"headers.{name}", name)
        places: list[tuple[_Put, str, Mapping[str, str]]] = [
            (put_header, "headers", headers or {}),
            (_put_param, "query", query or {}),
            (_put_field, "json", json or {}),
        ]
        outputs = [
            (put, name, _template(f"{option}.{name}", value, known, secrets))
            for put, option, given in places
            for name, value in given.items()
        ]
        self._first = [output for output in outputs if not output[2].names(SIGNATURE)]
        self._last = [output for output in outputs if output[2].names(SIGNATURE)]
        if not self._last:
            hint = 'such as "headers": {"X-Signature": "{signature}"}; also: query, json'
            raise InvalidOption("", "the signature is put nowhere", hint)

    def before_request(self, request: LayerRequest) -> LayerRequest:
        """Return the request with its signature."""
        parts = _Parts(self._time, request.sent_at)
        for put, name, template in self._first:
            request = put(request, name, template.fill(parts.of(request)))
        text = self._text.fill(parts.of(request))
        signature = self._sign(text.encode("utf-8", "surrogateescape"))
        parts.signature = encode(signature, self._encoding).decode()
        signed = request
        for put, name, template in self._last:
            signed = put(signed, name, template.fill(parts.of(request)))
        return signed


class _Parts:
    """The parts of the texts about one request: time and nonce are the same in all of them."""

    def __init__(self, time: str, sent_at: float) -> None:
        self._time, self._sent_at = time, sent_at
        self._nonce = random_values.token_hex(16)
        self.signature = ""

    def of(self, request: LayerRequest) -> Callable[[str, str], str]:
        """Return the function that gives the parts of a request."""
        url, body = urlsplit(request.url), request.body or b""
        known = {
            "method": request.method,
            "scheme": url.scheme,
            "host": url.netloc.rpartition("@")[2],
            "path": url.path or "/",
            "query": _sorted_query(url.query),
            "url": request.url,
            "time": self._written_time,
            "nonce": self._nonce,
            SIGNATURE: self.signature,
        }

        def part(name: str, detail: str) -> str:
            if name == "header":
                return _header(request, detail)
            if name == "body":
                return body.decode("utf-8", "surrogateescape")
            if name.startswith("body_"):
                digest = hashlib.new(name.removeprefix("body_"), body, usedforsecurity=False).digest()
                return encode(digest, detail or "hex").decode()
            return known[name]

        return part

    @property
    def _written_time(self) -> str:
        match self._time:
            case "iso":
                return datetime.fromtimestamp(self._sent_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            case "ms":
                return str(int(self._sent_at * 1000))
            case _:
                return str(int(self._sent_at))


def _sorted_query(query: str) -> str:
    return "&".join(map("".join, sorted(part.partition("=") for part in query.split("&"))))


def _header(request: LayerRequest, name: str) -> str:
    return next((value for known, value in request.headers if known.lower() == name.lower()), "")


def _template(option: str, text: str, known: tuple[str, ...], secrets: SecretValues | None) -> Template:
    template = Template(option, text, known, secrets)
    if "" in template.details("header"):
        raise InvalidOption(option, "{header} names no header", "such as {header:Date}")
    for digest in DIGESTS:
        for encoding in template.details(f"body_{digest}"):
            if encoding and encoding not in ENCODINGS:
                hint = f"one of {', '.join(ENCODINGS)}"
                raise InvalidOption(option, f"there is no encoding {encoding!r}", hint)
    return template


def _put_param(request: LayerRequest, name: str, value: str) -> LayerRequest:
    return msgspec.structs.replace(request, url=with_url_param(request.url, name, value))


def _put_field(request: LayerRequest, name: str, value: str) -> LayerRequest:
    body = with_value(request.body, (), name, value) if request.body else None
    if body is None:
        raise LayerRefused("the request has no JSON object as its body")
    return msgspec.structs.replace(request, body=body)


def _signer(
    algorithm: str, reference: str, key_encoding: KeyEncoding, secrets: SecretValues | None
) -> Callable[[bytes], bytes]:
    """Return what signs bytes."""
    if algorithm in DIGESTS:
        if reference:
            raise InvalidOption("key", f"{algorithm} has no key", "name the secret in text: ${NAME}")
        return lambda data: hashlib.new(algorithm, data, usedforsecurity=False).digest()
    if not reference:
        raise InvalidOption("key", "the key 'key' is missing", "the name of a secret: ${NAME}")
    key = Key("key", reference, secrets)
    family, _, digest = algorithm.rpartition("-")
    if family == "hmac":
        raw = key.raw(key_encoding)
        return lambda data: hmac.digest(raw, data, digest)
    if algorithm == "ed25519":
        signing = key.ed25519()
        return lambda data: b"" if signing is None else signing.sign(data)
    return _rsa_signer(key, digest, is_pss=family == "rsa-pss")


def _rsa_signer(key: Key, digest: str, *, is_pss: bool) -> Callable[[bytes], bytes]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    kinds: dict[str, type[hashes.HashAlgorithm]] = {
        "sha1": hashes.SHA1,
        "sha256": hashes.SHA256,
        "sha512": hashes.SHA512,
    }
    hashed = kinds[digest]()
    signing = key.rsa_private()
    pad: padding.PSS | padding.PKCS1v15 = padding.PKCS1v15()
    if is_pss:
        pad = padding.PSS(padding.MGF1(hashed), padding.PSS.DIGEST_LENGTH)
    return lambda data: b"" if signing is None else signing.sign(data, pad, hashed)
