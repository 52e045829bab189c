"""The runs of all data folders here: which folder has a run, and which run is the newest."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from smartspider.backends.sqlite import peek
from smartspider.backends.sqlite.peek import RunFact
from smartspider.core.errors import NotFound, RequestInvalid, StoreUnavailable
from smartspider.installation.data_folder import HOME, find_folder, folders_below
from smartspider.installation.settings import read_settings

T = TypeVar("T")


class UnreadableFolder(msgspec.Struct, frozen=True):
    """A data folder that is locked, damaged or of another format."""

    path: Path
    error: StoreUnavailable


class LocalRuns:
    """The runs of the folders below the current one, and of the folder in the settings.

    Folders that cannot be read are left out and listed in `unreadable`.
    """

    def __init__(self) -> None:
        self.unreadable: list[UnreadableFolder] = []

    @cached_property
    def newest(self) -> dict[Path, RunFact | None]:
        """The readable folders, each with its newest run."""
        return self._ask(_folders(), peek.newest_run)

    def folder_of_run(self, run_id: int) -> Path:
        """Return the folder that has a run; raise `NotFound`, or `RequestInvalid` if several have it.

        The folder of the settings is preferred: its ids may repeat those of the folders below.
        """
        folders = list(self.newest)
        found = [folder for folder, has_it in self._ask(folders, _has_run(run_id)).items() if has_it]
        inside = [folder for folder in found if folder.parent == HOME]
        if len(found) > len(inside) or len(found) == 1:
            return found[0]
        if not found:
            hint = "`smartspider run list` lists the runs"
            raise NotFound(f"there is no run {run_id}{self._where()}", hint=hint)
        names = " and ".join(str(folder) for folder in found)
        what = f"run {run_id} is in {names}: one folder is a copy of the other"
        raise RequestInvalid(what, hint="choose one with --data DIR")

    def folder_of_task(self, name: str) -> Path:
        """Return the folder of a task: that of the settings, else its own, else of those that have the task
        the one with the newest run, else the one that was used last.
        """
        if read_settings().data_folder is not None:
            return find_folder(None)
        names = self._ask(list(self.newest), peek.task_names)
        found = [folder for folder, known in names.items() if name in known]
        own = [folder for folder in found if folder == HOME / name]
        if found:
            return (own or sorted(found, key=self._newest_at, reverse=True))[0]
        last_used = self._last_used()
        near = get_close_matches(name, set().union(*names.values()), n=1)
        if near and not name.isdecimal():  # which may be an id
            raise NotFound(f"there is no task {name[:100]!r}", hint=f"did you mean {near[0]!r}?")
        return last_used

    def newest_folder(self) -> Path:
        """Return the folder with the newest run, else the one that was used last."""
        with_runs = [folder for folder, run in self.newest.items() if run is not None]
        return max(with_runs, key=self._newest_at) if with_runs else self._last_used()

    def _last_used(self) -> Path:
        if self.unreadable and not self.newest:
            raise self.unreadable[0].error
        return find_folder(None)

    def _newest_at(self, folder: Path) -> tuple[float, int]:
        run = self.newest[folder]
        return (0.0, 0) if run is None else (run.created_at, run.id)

    def _ask(self, folders: list[Path], question: Callable[[Path], T]) -> dict[Path, T]:
        answers: dict[Path, T] = {}
        for folder in folders:
            try:
                answers[folder] = question(folder)
            except StoreUnavailable as error:
                self.unreadable.append(UnreadableFolder(folder, error))
        return answers

    def _where(self) -> str:
        folders = list(self.newest)
        if len(folders) == 1:
            return f" in {folders[0]}"
        return f" in the {len(folders)} data folders here" if folders else ""


def _folders() -> list[Path]:
    """Return the folder of the settings, if any, and all below the current folder."""
    below = folders_below()
    if read_settings().data_folder is None:
        return below
    chosen = find_folder(None)
    return [chosen, *(folder for folder in below if not folder.samefile(chosen))]


def _has_run(run_id: int) -> Callable[[Path], bool]:
    return lambda folder: peek.has_run(folder, run_id)
