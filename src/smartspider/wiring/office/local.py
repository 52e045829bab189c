"""An office on a data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from smartspider.core.access import Principal
from smartspider.wiring.folder import open_folder
from smartspider.wiring.office.people import PeopleOffice
from smartspider.wiring.office.results import ResultOffice
from smartspider.wiring.office.telling import TellingOffice


class LocalOffice(ResultOffice, TellingOffice, PeopleOffice):
    """Operations of the API on a data folder, by their names: with the same words, services and answers."""


@asynccontextmanager
async def open_office(path: Path, actor: str) -> AsyncIterator[LocalOffice]:
    """The office of a data folder; who has the folder may do everything in it."""
    with open_folder(path, actor) as folder:
        office = LocalOffice(folder, Principal(actor, "admin"))
        try:
            yield office
        finally:
            await office.close()
