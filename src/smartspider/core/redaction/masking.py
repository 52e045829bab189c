"""Masking for readers who may not see the secrets of a task.

Values of headers, queries and bodies are secret unless their name is known to be harmless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from urllib.parse import unquote_plus

import msgspec

from smartspider.core.redaction.names import is_harmless_header, is_harmless_parameter
from smartspider.core.redaction.redactor import REDACTED, Redactor, is_reference

T = TypeVar("T")

PAGE_CONTENT = frozenset({"data", "row", "rows", "value", "before", "after", "examples"})
"""Fields of views that hold what pages contain, which is no secret of the task."""

MIN_CHARS = 6
"""Shorter texts contain no secret with its name."""
_PARAMETER = re.compile(r"(?<=[?&;#])([^\s=&;#\"'<>?]{1,200})=([^\s&;#\"'<>]*)")
_FORM = re.compile(r"[^\s=&]+=[^\s&]*(?:&[^\s=&]+=[^\s&]*)*")
_PLAIN = Redactor()


def mask_text(text: str) -> str:
    """Return a text with the secrets in its URLs masked: user information, and query parameters that are
    not known to be harmless.
    """
    if len(text) < MIN_CHARS:
        return text
    if "=" in text and any(mark in text for mark in "?&;#"):
        text = _PARAMETER.sub(_masked_parameter, text)
    return _PLAIN.text(text)


def _masked_parameter(found: re.Match[str]) -> str:
    name, value = found.groups()
    if is_harmless_parameter(unquote_plus(name), unquote_plus(value)) or value == REDACTED:
        return found[0]
    return f"{name}={REDACTED}"


def mask_header(name: str, value: Any) -> Any:
    """Return the value of a header, masked unless its name is known to be harmless."""
    if not isinstance(value, str) or value == "" or is_reference(value):
        return value
    return mask_text(value) if is_harmless_header(name) else REDACTED


def mask_parameter(name: str, value: Any) -> Any:
    """Return a value of a query or a body, masked unless its name is known to be harmless; lists and objects
    value by value.
    """
    match value:
        case list():
            return [mask_parameter(name, each) for each in value]
        case Mapping():
            return {key: mask_parameter(key, each) for key, each in value.items()}
        case str() if not is_reference(value):
            return mask_text(value) if is_harmless_parameter(name, value) else REDACTED
        case int() | float() if not isinstance(value, bool) and not is_harmless_parameter(name, str(value)):
            return REDACTED
        case _:
            return value


def mask_body(body: Any) -> Any:
    """Return the body of a request with its values masked; a text that is no form is masked as a whole."""
    if not isinstance(body, str):
        return mask_parameter("", body)
    if body == "" or is_reference(body):
        return body
    if _FORM.fullmatch(body):
        return mask_text(f"?{body}")[1:]
    try:
        parsed = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return REDACTED
    return msgspec.json.encode(mask_parameter("", parsed)).decode()


def is_harmless_body(body: bytes) -> bool:
    """Return whether a body has no value that is masked."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return False
    if _FORM.fullmatch(text):
        return str(mask_body(text)) == text
    try:
        parsed = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return text == ""
    is_same: bool = mask_parameter("", parsed) == parsed
    return is_same


def mask_view(view: T) -> T:
    """Return the answer of a call with the texts in it masked, except what pages contain."""
    masked: object = view
    match view:
        case str():
            masked = mask_text(view)
        case msgspec.Struct():
            changed = {
                name: shown
                for name in view.__struct_fields__
                if name not in PAGE_CONTENT and (shown := mask_view(old := getattr(view, name))) is not old
            }
            masked = msgspec.structs.replace(view, **changed) if changed else view
        case list():
            masked = [mask_view(each) for each in view]
        case dict():
            masked = {name: mask_view(each) for name, each in view.items()}
    return cast("T", masked)
