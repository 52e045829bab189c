-- From version 1 to 2: items are compared, rejects and the cleaning log kept, pages remembered from run to run,
-- tasks have versions, the audit is a chain (its old notes are put into it by `audit.adopt`).

ALTER TABLE run ADD COLUMN policies BLOB;
ALTER TABLE run ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;

CREATE TABLE task (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    version    INTEGER NOT NULL,
    deleted_at REAL
);
CREATE UNIQUE INDEX task_name ON task (name) WHERE deleted_at IS NULL;

CREATE TABLE task_version (
    task_id    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    spec       BLOB NOT NULL,
    spec_hash  TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at REAL NOT NULL,
    note       TEXT NOT NULL,
    PRIMARY KEY (task_id, number)
);

INSERT INTO task (name, owner, created_at, updated_at, version)
SELECT task_name, 'format 1', min(created_at), min(created_at), 0 FROM run GROUP BY task_name ORDER BY min(id);

-- a version for each run whose task is not as it was in the run before
ALTER TABLE run ADD COLUMN task_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN task_version INTEGER NOT NULL DEFAULT 0;
UPDATE run SET task_id = (SELECT task.id FROM task WHERE task.name = task_name);
UPDATE run SET task_version = numbered.number FROM (
    SELECT id, sum(is_new) OVER (PARTITION BY task_id ORDER BY id) AS number FROM (
        SELECT id, task_id, spec IS NOT lag(spec) OVER (PARTITION BY task_id ORDER BY id) AS is_new FROM run
    )
) AS numbered WHERE numbered.id = run.id;
INSERT INTO task_version (task_id, number, spec, spec_hash, author, created_at, note)
SELECT task_id, task_version, spec, spec_hash, 'format 1', min(created_at), '' FROM run GROUP BY task_id, task_version;
UPDATE task SET (version, updated_at) = (SELECT max(number), max(v.created_at) FROM task_version v WHERE task_id = task.id);
CREATE INDEX run_unfinished ON run (task_id, id) WHERE state NOT IN ('completed', 'failed', 'cancelled');

ALTER TABLE audit RENAME TO audit_1;
CREATE TABLE audit (
    id       INTEGER PRIMARY KEY,
    at       REAL NOT NULL,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash     TEXT NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_subject ON audit (subject, id);

CREATE TABLE audit_head (
    last INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (0, '0000000000000000000000000000000000000000000000000000000000000000');

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
