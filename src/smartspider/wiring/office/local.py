"""An office on a data folder, or on the store of a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from smartspider.core.access import Principal
from smartspider.wiring.folder import open_folder
from smartspider.wiring.office.people import PeopleOffice
from smartspider.wiring.office.results import ResultOffice
from smartspider.wiring.office.telling import TellingOffice
from smartspider.wiring.opening import open_premises, place_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings


class LocalOffice(ResultOffice, TellingOffice, PeopleOffice):
    """Operations of the API on an installation, by their names: with the same words, services and answers."""


@asynccontextmanager
async def open_office(path: Path, actor: str) -> AsyncIterator[LocalOffice]:
    """The office of a data folder; who has the folder may do everything in it."""
    with open_folder(path, actor) as folder:
        async with _office(folder, actor) as office:
            yield office


@asynccontextmanager
async def open_cluster_office(settings: Settings, actor: str) -> AsyncIterator[LocalOffice]:
    """The office of a cluster; who knows the address of its store may do everything in it."""
    async with (
        open_premises(place_of(None, settings), settings, actor=actor) as premises,
        _office(premises, actor) as office,
    ):
        yield office


@asynccontextmanager
async def _office(premises: Premises, actor: str) -> AsyncIterator[LocalOffice]:
    office = LocalOffice(premises, Principal(actor, "admin"))
    try:
        yield office
    finally:
        await office.close()
