"""The ledger on SQLite: settle, offer and ack are one transaction."""

from __future__ import annotations

import apsw

from smartspider.backends.sql.ledger import SqlLedger
from smartspider.backends.sqlite.database import Database

DATA_ERRORS = (apsw.TooBigError, apsw.ConstraintError, apsw.MismatchError)


def sqlite_ledger(database: Database) -> SqlLedger:
    """See `interfaces/ledger.py`."""
    return SqlLedger(database, DATA_ERRORS)
