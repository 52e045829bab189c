"""Tickets stand in the addresses of WebSockets, which the server logs: there they are blacked out."""

from __future__ import annotations

import logging
import re

_TICKET = re.compile(r"(ticket=)[^&\s\"']+", re.IGNORECASE)


def install() -> None:
    """From now on no ticket is in a line of the server's log."""
    logging.getLogger("uvicorn.error").addFilter(without_tickets)


def without_tickets(record: logging.LogRecord) -> bool:
    """Black out tickets in a line; it is logged all the same."""
    if isinstance(record.args, tuple):
        record.args = tuple(_black(one) for one in record.args)
    record.msg = _black(record.msg)
    return True


def _black(value: object) -> object:
    return _TICKET.sub(r"\1***", value) if isinstance(value, str) else value
