"""Files in a settle: the outcome of each request for one. Runs inside a transaction."""

from __future__ import annotations

from smartspider.core.frontier.verdict import Close
from smartspider.core.pages.files import FileOutcome, StoredFile
from smartspider.core.requests.request import Request
from smartspider.store import statements
from smartspider.store.database import Connection

SQL = statements.load("files.sql", __package__)


class FileOutcomes:
    """Collects the outcomes of requests for files, and writes them once per settle."""

    def __init__(self, connection: Connection, run_id: int) -> None:
        self._connection = connection
        self._run_id = run_id
        self._records: dict[bytes, tuple[object, ...]] = {}

    def add(self, request: Request, verdict: Close, outcome: FileOutcome) -> None:
        """Record the outcome of a request; after a redirect on its host, the landing request has the file."""
        if verdict.landed is None:
            self._put(request.fingerprint, outcome.file, outcome.target)
        else:
            self._put(request.fingerprint, None, verdict.landed.fingerprint)
            self._put(verdict.landed.fingerprint, outcome.file, None)

    def _put(self, fingerprint: bytes, file: StoredFile | None, target: bytes | None) -> None:
        parts = (None,) * 4 if file is None else (file.path, file.sha256, file.bytes, file.type)
        self._records[fingerprint] = (self._run_id, fingerprint, target, *parts)

    def write(self) -> None:
        """Write all outcomes."""
        if self._records:
            self._connection.executemany(SQL.put_file, [self._records[one] for one in sorted(self._records)])
