"""The sign-in body: JSON, or a form as in OAuth 2."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from smartspider.core.errors import Forbidden

FORM = "application/x-www-form-urlencoded"
MAX_BODY_BYTES = 20_000

Secret = Annotated[str, Field(min_length=1, max_length=4096)]


class SignInBody(BaseModel):
    """A name and a password, or a refresh token."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    username: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    password: Secret | None = None
    refresh_token: Secret | None = None

    @model_validator(mode="after")
    def is_one_or_the_other(self) -> SignInBody:
        """Require either a name and a password, or a refresh token."""
        has_password = self.username is not None and self.password is not None
        is_bare = self.username is None and self.password is None
        if has_password == (self.refresh_token is not None) or not (has_password or is_bare):
            raise ValueError("send `username` and `password`, or `refresh_token`")
        return self


_PASSWORD = {"username": "ann", "password": "four random words here"}
_REFRESH = {"refresh_token": "ssr_..."}
_PROPERTIES = {
    "username": {"type": "string", "minLength": 1, "maxLength": 64},
    "password": {"type": "string", "format": "password", "minLength": 1, "maxLength": 4096},
    "refresh_token": {"type": "string", "minLength": 1, "maxLength": 4096},
}
_FORM_ONLY = {
    "grant_type": {"type": "string", "enum": ["password", "refresh_token"]},
    **{name: {"type": "string"} for name in ("scope", "client_id", "client_secret")},
}


def _either(extra: dict[str, Any]) -> dict[str, Any]:
    ways: list[list[str]] = [["username", "password"], ["refresh_token"]]
    one_of = []
    for way in ways:
        other = [name for name in _PROPERTIES if name not in way]
        properties = {name: _PROPERTIES[name] for name in way} | extra
        one_of.append(
            {
                "title": " and ".join(way),
                "type": "object",
                "properties": properties,
                "required": way,
                "not": {"anyOf": [{"required": [name]} for name in other]},
                "additionalProperties": False,
            }
        )
    return {"oneOf": one_of}


DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": _either({}),
                "examples": {
                    "password": {"summary": "Sign in", "value": _PASSWORD},
                    "refresh": {"summary": "Refresh a session", "value": _REFRESH},
                },
            },
            FORM: {"schema": _either(_FORM_ONLY), "example": {"grant_type": "password", **_PASSWORD}},
        },
    }
}
"""Describes the body in the OpenAPI document."""


async def _sent(request: Request) -> SignInBody:
    refuse_cross_site(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if len(body) > MAX_BODY_BYTES:
        raise HTTPException(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
    try:
        # curl sends the content type of a form by default
        if kind in ("", "application/json") or kind.endswith("+json") or body.lstrip().startswith(b"{"):
            return SignInBody.model_validate_json(body)
        if kind == FORM:
            return SignInBody.model_validate(_form(body))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        located = [{**one, "loc": ("body", *one["loc"])} for one in found]
        raise RequestValidationError(located) from None
    raise HTTPException(415, f"sign in with application/json or {FORM}")


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "the form cannot be read") from None
    return {name: value for name, value in fields.items() if name not in _FORM_ONLY}


def refuse_cross_site(request: Request) -> None:
    """Raise `Forbidden` for requests from pages of other sites: they could sign users in or try passwords."""
    origin = request.headers.get("origin")
    is_cross_site = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if origin is not None:
        is_cross_site = is_cross_site or urlsplit(origin).netloc != request.headers.get("host", "")
    if is_cross_site:
        raise Forbidden("cross-site sign-in is not allowed", hint="sign in from the console or an API client")


SignInSent = Annotated[SignInBody, Depends(_sent)]
