"""A PostgreSQL server for tests and measurements."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

from smartspider_testing.servers import process_stats, programs
from smartspider_testing.servers.certificates import Certificate
from smartspider_testing.servers.clock import FakeClock
from smartspider_testing.servers.errors import NotPossibleHere, ServerFailed
from smartspider_testing.servers.owner import Owner
from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.postgres.client import PostgresClient, PostgresRefused
from smartspider_testing.servers.postgres.data_folder import ADMIN, USER, copy_data_folder, make_data_folder
from smartspider_testing.servers.process import TIMEOUT_S, ServerProcess, wait_until_gone
from smartspider_testing.servers.temporary_folder import TemporaryFolder, clear_away

DEFAULTS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "dynamic_shared_memory_type": "mmap",  # a killed server leaves nothing in /dev/shm
    "log_line_prefix": "%m [%p] ",
}
STANDBY = "standby"
QUICK = {"fsync": "off", "full_page_writes": "off"}


class PostgresServer:
    """A real PostgreSQL on 127.0.0.1 and a socket file; a context manager, or started by hand.

    Commits survive a kill of its processes, and a crash of the machine only if `is_durable`. Root runs it
    as an
    unprivileged user; if that user cannot enter `folder`, its files are in the machine's temporary folder
    until
    `close`. Servers with the same `template` (a path) share one initialisation. With `clock_offset_s` its
    wall clock is offset and can be changed while it runs.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        is_durable: bool = False,
        template: Path | None = None,
        options: Mapping[str, str] | None = None,
        follows: PostgresServer | None = None,
        clock_offset_s: float | None = None,
    ) -> None:
        self.port = port or free_port()
        self._template = template
        self._follows = follows
        self._owner = Owner.for_postgres()
        self._lent: TemporaryFolder | None = None
        self.folder = self._home(folder)
        settings = {**DEFAULTS, **({} if is_durable else QUICK), **(options or {})}
        settings |= {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        if follows is not None:
            settings["primary_conninfo"] = (
                f"host={follows.folder} port={follows.port} user={ADMIN} application_name={STANDBY}"
            )
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        program = str(programs.postgres_folder() / "postgres")
        self._clock = None if clock_offset_s is None else FakeClock(self.folder, clock_offset_s)
        self._process = ServerProcess(
            [program, "-D", str(self._data), *words],
            self.folder,
            user=self._owner.user,
            environment=self._clock.environment() if self._clock else None,
        )

    def _home(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        if self._owner.may_live_in(folder):
            return folder
        clear_away()
        self._lent = TemporaryFolder()
        if not self._owner.may_live_in(self._lent.path):
            self._lent.close()
            raise NotPossibleHere(
                f"{self._owner.user} may enter neither {folder} nor {self._lent.path.parent}"
            )
        return self._lent.path

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The process id of the postmaster; raise if it is not running."""
        return self._process.pid

    def url(self, database: str) -> str:
        """Return the URL of a database for an ordinary user who may create databases."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def start(self) -> Self:
        """Start it with its existing data; return when it accepts statements, after any recovery."""
        is_new = not self._data.exists()
        if is_new and self._follows is not None:
            copy_data_folder(self._data, self._owner, self._follows.folder, self._follows.port)
        elif is_new:
            make_data_folder(self._data, self._owner, self._template)
        self._process.start()
        try:
            self._process.wait_until("take statements", self._answers)
            if is_new and self._follows is None:
                self.execute(f"CREATE ROLE {USER} LOGIN CREATEDB")
        except BaseException:
            self.kill()
            raise
        return self

    def wait_for_standby(self) -> None:
        """Make every commit wait for the standby; return once that is in effect."""
        self.set("synchronous_standby_names", STANDBY)
        state = "SELECT sync_state FROM pg_stat_replication"
        self.wait_until("wait for its standby", lambda: self.execute(state) == [["sync"]])

    def fall_behind(self) -> None:
        """Stop replicating from the primary until this server is killed and restarted."""
        ((receiver,),) = self.execute("SELECT pid FROM pg_stat_wal_receiver")
        os.kill(int(receiver or 0), signal.SIGSTOP)

    def promote(self) -> None:
        """Promote this standby; return once it accepts writes."""
        self.execute("SELECT pg_promote()")
        self.wait_until(
            "take writes", lambda: self.execute("SELECT pg_is_in_recovery()") == [["f"]], TIMEOUT_S
        )

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        self.execute(f"ALTER SYSTEM SET {name} = '{value}'", "SELECT pg_reload_conf()")

    def set_clock(self, offset_s: float) -> None:
        """Set the wall clock to `offset_s` from the true time."""
        if self._clock is None:
            raise ServerFailed("this server has the true clock: give clock_offset_s to begin with")
        self._clock.set(offset_s)

    def use_tls(self, certificate: Certificate) -> None:
        """Accept TLS on new connections."""
        for name, file in (("ssl_cert_file", certificate.file), ("ssl_key_file", certificate.key)):
            own = self.folder / file.name
            shutil.copyfile(file, own)
            self._owner.give_file(own)
            self.set(name, str(own))
        self.set("ssl", "on")
        self.wait_until("speak TLS", lambda: self.execute("SHOW ssl") == [["on"]])

    def ask_for_password(self, password: str) -> None:
        """Require TLS and a password from the ordinary user."""
        self.execute(f"ALTER ROLE {USER} PASSWORD '{password}'")
        access = self._data / "pg_hba.conf"
        text = access.read_text(encoding="ascii").replace(f"host all {USER}", f"hostssl all {USER}")
        access.write_text(text.replace("/32 trust", "/32 scram-sha-256"), encoding="ascii")
        self.execute("SELECT pg_reload_conf()")

    def stop(self) -> None:
        """Shut it down and close its connections; do nothing if it is not running."""
        self._process.end(signal.SIGINT)

    def kill(self) -> None:
        """Send SIGKILL to the postmaster and all its children; do nothing if it is not running."""
        if not self._process.is_running:
            self._process.end(signal.SIGKILL)
            return
        self._process.freeze()  # so that it starts and signals no child meanwhile
        pid, family = self.pid, process_stats.children(self.pid)
        for child in family:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.end(signal.SIGKILL)
        wait_until_gone(family)
        self._release_memory()
        if self._clock is not None:
            self._clock.clean(pid)

    def _release_memory(self) -> None:
        """Remove the shared memory segment by which PostgreSQL detects a live predecessor; a kill leaves it
        behind.
        """
        with suppress(OSError, IndexError):
            lines = (self._data / "postmaster.pid").read_text(encoding="ascii").splitlines()
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, check=False)

    def restart(self) -> Self:
        """Stop it if it is running, and start it with the same data on the same port."""
        self.stop()
        return self.start()

    def close(self) -> None:
        """Stop it and remove its files outside the given folder."""
        self.kill()
        if self._lent is not None:
            self._lent.close()

    def connect(self, database: str = ADMIN) -> PostgresClient:
        """Open a connection as administrator."""
        return PostgresClient(self.folder / f".s.PGSQL.{self.port}", ADMIN, database)

    def execute(self, *statements: str, database: str = ADMIN) -> list[list[str | None]]:
        """Run statements as administrator, each in its own transaction; return the rows of the last one as
        text.
        """
        rows: list[list[str | None]] = []
        with self.connect(database) as connection:
            for statement in statements:
                rows = connection(statement)
        return rows

    def create_database(self, name: str, template: str | None = None, tablespace: str | None = None) -> str:
        """Create a database, empty or from a template without connections. Return its URL."""
        copied = f" TEMPLATE {quoted(template)}" if template else ""
        placed = f" TABLESPACE {quoted(tablespace)}" if tablespace else ""
        self.execute(f"CREATE DATABASE {quoted(name)} OWNER {USER}{copied}{placed}")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database and disconnect its clients; do nothing if there is none."""
        self.execute(f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)")

    def create_tablespace(self, name: str, folder: Path) -> None:
        """Create a tablespace in a folder such as a `SmallDisk`; the log stays where it is."""
        self._owner.give(folder)
        self.execute(f"CREATE TABLESPACE {quoted(name)} OWNER {USER} LOCATION '{folder}'")

    def wait_until(self, what: str, is_so: Callable[[], bool], within_s: float = TIMEOUT_S) -> None:
        """Return once `is_so()`; raise an error that names `what`, with the end of the log."""
        self._process.wait_until(what, is_so, within_s)

    def cpu_s(self) -> float:
        """Return the CPU seconds of all its processes, ended ones included."""
        return self._process.cpu_s()

    def memory_bytes(self) -> int:
        """Return the memory of all its processes, shared memory counted once."""
        return sum(map(process_stats.memory_bytes, [self.pid, *process_stats.children(self.pid)]))

    def _answers(self) -> bool:
        try:
            return self.execute("SELECT 1") == [["1"]]
        except (OSError, PostgresRefused):  # not listening yet, or still recovering
            return False

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.close()


def quoted(name: str) -> str:
    """Return a quoted SQL identifier."""
    if "\0" in name:
        raise ServerFailed("a name cannot have a zero byte")
    return '"' + name.replace('"', '""') + '"'
