"""Read the databases of browsers while the browsers run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from smartspider.cli.identities.browsers.profiles import BrowserProfile
from smartspider.core.errors import NotAllowed

EXPORT = "export the cookies with an extension and upload the file by `cookie upload`"
_TRIES = 20
_SUFFIXES = ("", "-wal", "-journal")


@contextmanager
def opened_copy(profile: BrowserProfile, is_ours: Callable[..., bool]) -> Iterator[apsw.Connection]:
    """Open a copy of the cookies of a profile, with what its write-ahead log has. SQL may call
    `is_ours(host)`. The copy is deleted at the end.
    """
    with TemporaryDirectory(prefix="smartspider-cookies-") as folder:
        copy = Path(folder, profile.cookies.name)
        try:
            _copy(profile.cookies, copy)
        except OSError as error:
            raise NotAllowed(
                f"the cookies of {profile.title} cannot be read: {error.strerror or error}",
                hint="close the browser if it locks them",
            ) from error
        connection = apsw.Connection(str(copy))
        try:
            connection.create_scalar_function("is_ours", is_ours, 1, deterministic=True)
            yield connection
        except apsw.Error as error:
            raise NotAllowed(
                f"the cookies of {profile.title} cannot be read: {error}", hint=EXPORT
            ) from error
        finally:
            connection.close()


def _copy(path: Path, copy: Path) -> None:
    """Copy a database as it is at one moment; raise `OSError` for one that never keeps still."""
    for _ in range(_TRIES):
        before = _stamps(path)
        for suffix, stamp in zip(_SUFFIXES, before, strict=True):
            if stamp is None:
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
            else:
                with suppress(FileNotFoundError):  # the browser removed it since
                    shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        if _stamps(path) == before:
            return
    raise OSError("the browser writes them all the time")


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    return [_stamp(Path(f"{path}{suffix}")) for suffix in _SUFFIXES]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
