"""Versions in headers: `ETag` tells one, `If-Match` is meant for one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from smartspider.core.errors import Outdated

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=200,
        description="The ETag of the version that is to be changed; 412 when there is a newer one.",
        examples=['"3"'],
    ),
]


def etag(version: int) -> str:
    """The tag of a version."""
    return f'"{version}"'


def expected_version(header: str | None, newest: int) -> int | None:
    """The version a change is meant for, None for any; raises `Outdated` when it is not the newest."""
    if header is None or header.strip() == "*":
        return None
    if newest not in _numbers(header):
        raise Outdated(
            f"version {newest} is the newest, and the change is meant for {header[:40]}",
            hint="look at what changed, and try again with the newest version",
        )
    return newest


def _numbers(header: str) -> set[int]:
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return {int(tag) for tag in tags if tag.isascii() and tag.isdecimal() and len(tag) <= 18}
