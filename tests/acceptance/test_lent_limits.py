"""However the borrowers of cookies end, their site never sees more requests of a login than its limit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.acceptance.test_vault_cookies import members
from tests.acceptance.workshop import until

from smartspider.core.cookies.formats import parse_cookies
from smartspider.core.cookies.sets import TERM_S
from smartspider.installation.installation import Installation
from smartspider.installation.settings import read_settings
from smartspider.store.cookie_sets import NewCookieSet
from smartspider.wiring.opening import open_installation
from smartspider_testing.sites.members import session_cookie

pytestmark = [pytest.mark.acceptance, pytest.mark.soak, pytest.mark.timeout(400)]

LIMITS = (1, 1, 2, 3)
BORROWERS = 8
LASTS_S = 75.0
KILL_EVERY_S = 0.4
STOP_S = TERM_S + 5
"""A stopped borrower wakes up after its term."""


async def prepare(own: Installation) -> None:
    """Upload the cookies of all sessions."""
    for number, limit in enumerate(LIMITS, 1):
        parsed = parse_cookies(session_cookie(number), "127.0.0.1", own.clock.now())
        new = NewCookieSet(domain="127.0.0.1", name="", cookies=parsed.cookies, slots=limit)
        await own.vault.upload_cookies(new, actor="ann")


@pytest.fixture(params=["folder", "cluster"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of all borrowers: of a data folder, or of PostgreSQL and Redis."""
    return dict(request.getfixturevalue("cluster")) if request.param == "cluster" else {}


@pytest.mark.parametrize("seed", range(5))
async def test_no_session_is_used_more_often_at_a_time_than_it_may_be(
    tmp_path: Path, environment: dict[str, str], seed: int
) -> None:
    chance = random.Random(seed)
    settings = read_settings(environment, tmp_path / "none")
    async with open_installation(tmp_path / "data", settings) as own:
        await prepare(own)
    with members("--sessions", str(len(LIMITS))) as site:
        command = [
            sys.executable,
            "-m",
            "tests.acceptance.lender",
            str(tmp_path / "data"),
            f"{site.url()}entry/1",
        ]
        everything = {**os.environ, **environment}
        borrowers = [subprocess.Popen(command, env=everything) for _ in range(BORROWERS)]  # noqa: ASYNC220
        kills, stopped = 0, dict[int, float]()
        try:
            until(lambda: len(site.ask("/_stats")["served"]) >= 20, "some pages")
            ends_at = time.monotonic() + LASTS_S
            while time.monotonic() < ends_at:
                time.sleep(KILL_EVERY_S)  # noqa: ASYNC251
                for place in [place for place, at in stopped.items() if time.monotonic() - at > STOP_S]:
                    borrowers[place].send_signal(signal.SIGCONT)
                    del stopped[place]
                if len(stopped) < 2 and time.monotonic() + STOP_S < ends_at:
                    place = chance.choice([one for one in range(BORROWERS) if one not in stopped])
                    borrowers[place].send_signal(signal.SIGSTOP)
                    stopped[place] = time.monotonic()
                place = chance.choice([one for one in range(BORROWERS) if one not in stopped])
                borrowers[place].kill()
                borrowers[place].wait()
                borrowers[place] = subprocess.Popen(command, env=everything)  # noqa: ASYNC220
                kills += 1
        finally:
            for borrower in borrowers:
                os.kill(borrower.pid, signal.SIGCONT)
                borrower.kill()
                borrower.wait()
        stats = site.ask("/_stats")
    assert stats["refused"] == []
    assert len(stats["served"]) > 100
    assert kills > 50
    for number, limit in enumerate(LIMITS, 1):
        assert 0 < stats["most"][f"-{number}"] <= limit
    async with open_installation(tmp_path / "data", settings) as own:
        ids = range(1, len(LIMITS) + 1)

        async def lent() -> int:
            return sum(one.lent for one in (await own.vault.cookies.usage(list(ids))).values())

        give_up_at = time.monotonic() + TERM_S + 5
        while await lent() and time.monotonic() < give_up_at:
            time.sleep(0.5)  # noqa: ASYNC251
        assert await lent() == 0
