"""The layer `decrypt`: decrypts answers, or a value in them."""

from __future__ import annotations

import msgspec

from smartspider.core.pages.page import Page
from smartspider.core.requests.secrets import SecretValues
from smartspider.interfaces.layer import LayerRefused, LayerRequest
from smartspider.layers.answers import AnswerValue, read_answer
from smartspider.layers.ciphers import CipherName, IvPlace, decryption
from smartspider.layers.codec import Encoding, decode, gunzip
from smartspider.layers.keys import Key, KeyEncoding


class DecryptLayer:
    """Decrypts the answer, or the text that the JMESPath `expr` finds in it; the page is what it says."""

    def __init__(
        self,
        cipher: CipherName,
        key: str,
        *,
        expr: str = "",
        iv: str = "",
        iv_header: str = "",
        iv_field: str = "",
        encoding: Encoding = "base64",
        key_encoding: KeyEncoding = "text",
        gzip: bool = False,
        media_type: str = "application/json",
        secrets: SecretValues | None = None,
    ) -> None:
        self._encoding, self._gzip, self._media_type = encoding, gzip, media_type
        self._message = AnswerValue("expr", expr) if expr else None
        self._iv = IvPlace(cipher, key_encoding, secrets, iv=iv, header=iv_header, field=iv_field)
        self._iv_value = AnswerValue("iv_field", iv_field) if iv_field else None
        self._decrypt = decryption(cipher, Key("key", key, secrets), key_encoding)

    def after_response(self, page: Page, request: LayerRequest) -> Page:
        """Return the decrypted page."""
        document = read_answer(page) if self._message or self._iv_value else None
        found = page.body if self._message is None else self._message.require(document)
        message = self._decoded("the message", found)
        iv = self._iv.constant or b""
        if self._iv.is_prefix:
            iv, message = self._iv.split(message)
        elif self._iv.header:
            iv = self._decoded("the initialization vector", page.headers.get(self._iv.header.lower(), ""))
        elif self._iv_value is not None:
            iv = self._decoded("the initialization vector", self._iv_value.require(document))
        try:
            body = self._decrypt(message, iv)
        except ValueError:
            raise LayerRefused("the message cannot be decrypted: another key, or a part is missing") from None
        if self._gzip:
            body = gunzip(body, request.max_bytes)
        headers = {**page.headers, "content-type": f"{self._media_type}; charset=utf-8"}
        return msgspec.structs.replace(page, headers=headers, body=body, charset="utf-8")

    def _decoded(self, what: str, found: object) -> bytes:
        if isinstance(found, str):
            found = found.encode(errors="replace")
        encoding = "base64" if self._encoding == "raw" and what != "the message" else self._encoding
        try:
            if isinstance(found, bytes):
                return decode(found, encoding)
        except ValueError:
            pass
        raise LayerRefused(f"{what} is not {encoding}")
