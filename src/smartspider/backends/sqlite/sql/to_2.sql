-- From version 1 to 2: items are compared, rejects and the cleaning log kept, pages remembered from run to run.

ALTER TABLE run ADD COLUMN policies BLOB;
ALTER TABLE run ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;

CREATE TABLE task (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
INSERT INTO task (name) SELECT task_name FROM run GROUP BY task_name ORDER BY min(id);

CREATE TABLE item_key (
    scope   INTEGER NOT NULL,
    key     BLOB NOT NULL,
    item_id INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX item_key_item ON item_key (item_id);

CREATE TABLE reject (
    id     INTEGER PRIMARY KEY,
    url_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    step   TEXT NOT NULL,
    field  TEXT NOT NULL,
    value  TEXT NOT NULL,
    data   TEXT NOT NULL
);

CREATE TABLE cleaning (
    id     INTEGER PRIMARY KEY,
    url_id INTEGER NOT NULL,
    item   INTEGER NOT NULL,
    step   TEXT NOT NULL,
    field  TEXT NOT NULL,
    before TEXT NOT NULL,
    after  TEXT NOT NULL
);

CREATE TABLE step_count (
    run_id   INTEGER NOT NULL,
    step     TEXT NOT NULL,
    seen     INTEGER NOT NULL,
    changed  INTEGER NOT NULL,
    emptied  INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    PRIMARY KEY (run_id, step)
) WITHOUT ROWID;

CREATE TABLE visited (
    task_id       INTEGER NOT NULL,
    fingerprint   BLOB NOT NULL,
    run_id        INTEGER NOT NULL,
    fetched_at    REAL NOT NULL,
    changed_at    REAL NOT NULL,
    interval_s    REAL,
    content       BLOB NOT NULL,
    etag          TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    context       BLOB NOT NULL,
    page          BLOB,
    PRIMARY KEY (task_id, fingerprint)
) WITHOUT ROWID;
CREATE INDEX visited_run ON visited (run_id);
