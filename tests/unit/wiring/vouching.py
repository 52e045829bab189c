"""A keeper that tries to vouch for the frontier of a cluster."""

from __future__ import annotations

import logging

import pytest

from smartspider.keeper.frontier.duties import arming_duties
from smartspider.wiring.premises import Premises


async def warned_of(premises: Premises, caplog: pytest.LogCaptureFixture) -> str:
    """The one line that says why it cannot, however often it tries."""
    assert premises.apart is not None
    term = await premises.apart.leadership.take("keeper", 60.0)
    assert term is not None
    (arming,) = arming_duties(premises.apart)
    with caplog.at_level(logging.WARNING):
        await arming.do(term)
        await arming.do(term)
    (line,) = [record.getMessage() for record in caplog.records if "does not serve" in record.getMessage()]
    return line
