"""Headers that layers put into requests."""

from __future__ import annotations

import re

import msgspec

from smartspider.core.requests.request_headers import merge_headers
from smartspider.interfaces.layer import LayerRefused, LayerRequest
from smartspider.plugins.options import InvalidOption, show

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FRAMING = ("content-length", "transfer-encoding")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def check_header(option: str, name: str) -> str:
    """Return the name of a header; raise `InvalidOption` if it is none."""
    if not _NAME.fullmatch(name):
        raise InvalidOption(option, f"{show(name)} is not a header name", "letters, digits and '-'")
    if name.lower() in _FRAMING:
        raise InvalidOption(option, f"{name} says where the request ends", "it is computed from the body")
    return name


def put_header(request: LayerRequest, name: str, value: str) -> LayerRequest:
    """Return the request with a header, in the place of others of its name; raise `LayerRefused`."""
    if _CONTROLS.search(value):
        raise LayerRefused(f"the value of {name} has a line break or control character")
    return msgspec.structs.replace(request, headers=merge_headers(request.headers, ((name, value),)))
