"""The layer `token`: puts a token into requests, which a request of its own brings."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import TOKEN_PAGE
from smartspider.core.requests.bodies import (
    FORM,
    JSON,
    json_body,
    media_type_of,
    with_content_type,
)
from smartspider.core.requests.request import Extras
from smartspider.core.requests.secrets import OPENING, SecretValues, fill_secrets, fill_values
from smartspider.core.requests.urls import normal_url
from smartspider.interfaces.layer import LayerRefused, LayerRequest, Token
from smartspider.layers.answers import AnswerValue, read_answer
from smartspider.layers.headers import check_header, put_header
from smartspider.layers.template import Template
from smartspider.plugins.options import InvalidOption

MAX_CHARS = 16_384
_SENDABLE = re.compile(r"[\x21-\x7e]+")
_METHODS = ("GET", "POST", "PUT")


class BearerTokenLayer:
    """Requests a token at `url`, reads it from the answer or a header of it, and puts it into `header`."""

    def __init__(
        self,
        url: str,
        *,
        method: str = "",
        headers: dict[str, str] | None = None,
        body: dict[str, Any] | str | None = None,
        expr: str = "",
        from_header: str = "",
        expires_in: str | int | float = "expires_in",
        header: str = "Authorization",
        value: str = "Bearer {token}",
        secrets: SecretValues | None = None,
    ) -> None:
        normal = normal_url(url)
        if normal is None:
            raise InvalidOption(
                "url", "it is not an http or https URL", "write it with its scheme: https://..."
            )
        if OPENING in url:
            raise InvalidOption("url", "a URL is logged, and holds no secret", "send it in headers or body")
        method = method or ("GET" if body is None else "POST")
        if method not in _METHODS:
            raise InvalidOption("method", f"it is not one of {', '.join(_METHODS)}")
        if expr and from_header:
            raise InvalidOption("from_header", "expr says already where the token is", "remove one of them")
        self._request = _request(normal, method, tuple((headers or {}).items()), body, secrets)
        self._from_header = from_header.lower()
        self._token = AnswerValue("expr", expr or "access_token")
        is_fixed = not isinstance(expires_in, str)
        self._lasts_s = None if isinstance(expires_in, str) else float(expires_in)
        self._expires_in = None if is_fixed or from_header else AnswerValue("expires_in", str(expires_in))
        if self._lasts_s is not None and self._lasts_s <= 0:
            raise InvalidOption(
                "expires_in", "it is not positive", "seconds, or JMESPath of them in the answer"
            )
        for name in headers or {}:
            check_header(f"headers.{name}", name)
        self._header = check_header("header", header)
        self._value = Template("value", value, ("token",), secrets)
        if not self._value.names("token"):
            raise InvalidOption("value", "it has no {token}", "such as Bearer {token}")

    def token_request(self) -> LayerRequest:
        """Return the request for a token."""
        return self._request

    def read_token(self, page: Page) -> Token:
        """Return the token of an answer, and how long it lasts."""
        document = None if self._from_header else read_answer(page)
        found = page.headers.get(self._from_header) if self._from_header else self._token.require(document)
        text = str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""
        if len(text) > MAX_CHARS or not _SENDABLE.fullmatch(text):
            where = f"the header {self._from_header}" if self._from_header else "it"
            raise LayerRefused(f"the answer has no token: {where} is no text that a header can carry")
        return Token(
            text, self._lasts_s if self._expires_in is None else _seconds(self._expires_in.find(document))
        )

    def with_token(self, request: LayerRequest, token: str) -> LayerRequest:
        """Return the request with the token."""
        value = self._value.fill(lambda _name, _detail: token)
        return put_header(request, self._header, value)


def _request(
    url: str,
    method: str,
    headers: tuple[tuple[str, str], ...],
    body: dict[str, Any] | str | None,
    secrets: SecretValues | None,
) -> LayerRequest:
    """Return the request with the values of its secrets."""
    values = secrets or {}
    text = body.encode() if isinstance(body, str) else None
    filled, data = fill_secrets(Extras(method, headers, text), values)
    if isinstance(body, dict) and media_type_of(headers) == FORM:
        form = {
            name: each if isinstance(each, str) else json_body(each).decode() for name, each in body.items()
        }
        data = urlencode(fill_values(form, values)).encode()
    elif isinstance(body, dict):
        data, filled = json_body(fill_values(body, values)), with_content_type(JSON, filled)
    return LayerRequest(method, url, filled, data, TOKEN_PAGE)


def _seconds(found: object) -> float | None:
    """Return the seconds that a token lasts; None if the answer has none."""
    try:
        seconds = float(found) if isinstance(found, str | int | float) else 0.0
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None
