"""The layer `encrypt`: encrypts the body of requests, or a field of it."""

from __future__ import annotations

import gzip
import os
from typing import Any

import msgspec

from smartspider.core.requests.bodies import JSON, json_body
from smartspider.core.requests.secrets import SecretValues
from smartspider.interfaces.layer import LayerRefused, LayerRequest
from smartspider.layers.ciphers import CipherName, IvPlace, encryption
from smartspider.layers.codec import Encoding, encode
from smartspider.layers.headers import put_header
from smartspider.layers.keys import Key, KeyEncoding
from smartspider.plugins.options import InvalidOption


class EncryptLayer:
    """Encrypts the body, or `field` of a JSON body. The message is the body, or the field `into` of it.

    A request without a body passes as it is.
    """

    def __init__(
        self,
        cipher: CipherName,
        key: str,
        *,
        field: str = "",
        into: str = "",
        iv: str = "",
        iv_header: str = "",
        iv_field: str = "",
        encoding: Encoding = "base64",
        key_encoding: KeyEncoding = "text",
        gzip: bool = False,
        secrets: SecretValues | None = None,
    ) -> None:
        self._field, self._into, self._encoding, self._gzip = field, into or field, encoding, gzip
        if encoding == "raw" and self._into:
            raise InvalidOption("encoding", "a field of a JSON body holds text", "base64 or hex")
        if iv_field and not self._into:
            raise InvalidOption("iv_field", "the body is the message, and has no fields", "set into")
        self._iv = IvPlace(cipher, key_encoding, secrets, iv=iv, header=iv_header, field=iv_field)
        self._encrypt = encryption(cipher, Key("key", key, secrets), key_encoding)

    def before_request(self, request: LayerRequest) -> LayerRequest:
        """Return the request with its encrypted body."""
        if not request.body:
            return request
        document = _json_object(request.body) if self._field else {}
        plain = self._taken(document) if self._field else request.body
        if self._gzip:
            plain = gzip.compress(plain, mtime=0)
        place = self._iv
        iv = os.urandom(place.size) if place.constant is None else place.constant
        try:
            message = self._encrypt(plain, iv)
        except ValueError:  # only RSA refuses something: what is longer than its key
            raise LayerRefused(f"{len(plain)} bytes are more than the key can encrypt") from None
        message = encode(iv + message if place.is_prefix else message, self._encoding)
        if place.header:
            request = put_header(request, place.header, self._text(iv))
        if self._into:
            document[self._into] = message.decode()
            document |= {place.field: self._text(iv)} if place.field else {}
            message, request = json_body(document), put_header(request, "Content-Type", JSON)
        return msgspec.structs.replace(request, body=message)

    def _text(self, iv: bytes) -> str:
        return encode(iv, "base64" if self._encoding == "raw" else self._encoding).decode()

    def _taken(self, document: dict[str, Any]) -> bytes:
        """Take the field that is encrypted out of the body."""
        if self._field not in document:
            raise LayerRefused(f"the body has no field {self._field!r}")
        value = document.pop(self._field)
        return value.encode(errors="replace") if isinstance(value, str) else json_body(value)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LayerRefused("the request has no JSON object as its body") from None
