"""Masks tickets in the server log: they are part of WebSocket URLs, which are logged."""

from __future__ import annotations

import logging
import re

_TICKET = re.compile(r"(ticket=)[^&\s\"']+", re.IGNORECASE)


def install() -> None:
    """Add the filter to the log of the server."""
    logging.getLogger("uvicorn.error").addFilter(without_tickets)


def without_tickets(record: logging.LogRecord) -> bool:
    """Mask the tickets in a log record; return true, so that it is logged."""
    if isinstance(record.args, tuple):
        record.args = tuple(_mask(one) for one in record.args)
    record.msg = _mask(record.msg)
    return True


def _mask(value: object) -> object:
    return _TICKET.sub(r"\1***", value) if isinstance(value, str) else value
