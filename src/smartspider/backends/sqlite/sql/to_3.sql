-- From version 2 to 3: events, logs, users, tokens, schedules, notices, the leader row, knobs turned in a run.

ALTER TABLE run ADD COLUMN started_by TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN tuning BLOB;
ALTER TABLE run ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN knobs BLOB;
ALTER TABLE run ADD COLUMN next_event INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run ADD COLUMN told_at REAL NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_of_task ON run (task_id, id);
CREATE INDEX run_state ON run (state, id);
CREATE INDEX run_task_state ON run (task_id, state, id);
CREATE INDEX run_live ON run (id) WHERE state IN ('queued', 'running', 'stopping');
CREATE INDEX url_special ON url (run_id, url) WHERE extras IS NOT NULL;

CREATE INDEX host_held ON host (held_until) WHERE held_until > 0;

DROP INDEX url_identity;
CREATE UNIQUE INDEX url_identity ON url (run_id, fingerprint);
CREATE INDEX url_closed ON url (run_id, state) WHERE state <> 'open';

ALTER TABLE worker ADD COLUMN node TEXT NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN is_draining INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN seen_at REAL NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN cpu_s REAL NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN memory INTEGER NOT NULL DEFAULT 0;

CREATE TABLE event (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at     REAL NOT NULL,
    name   TEXT NOT NULL,
    data   TEXT NOT NULL
);
CREATE UNIQUE INDEX event_run ON event (run_id, number);

CREATE TABLE log (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      REAL NOT NULL,
    level   INTEGER NOT NULL,
    event   TEXT NOT NULL,
    task_id INTEGER,
    run_id  INTEGER,
    worker  TEXT NOT NULL,
    host    TEXT,
    url     TEXT,
    error   TEXT,
    text    TEXT NOT NULL,
    fields  TEXT NOT NULL
);

CREATE VIRTUAL TABLE log_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE log_size (bytes INTEGER NOT NULL);
INSERT INTO log_size VALUES (0);

CREATE TABLE user (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    password   TEXT NOT NULL,
    role       TEXT NOT NULL,
    created_at REAL NOT NULL,
    disabled_at REAL,
    session    INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX user_admin ON user (id) WHERE role = 'admin' AND disabled_at IS NULL;

CREATE TABLE token (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,
    actor        TEXT NOT NULL,
    role         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   REAL NOT NULL,
    expires_at   REAL,
    used_at      REAL,
    revoked_at   REAL
);
CREATE INDEX token_actor ON token (actor, id);
CREATE INDEX token_name ON token (name, expires_at) WHERE revoked_at IS NULL;

CREATE TABLE refresh (
    hash       BLOB PRIMARY KEY,
    user_id    INTEGER NOT NULL,
    family     TEXT NOT NULL,
    expires_at REAL NOT NULL,
    used_at    REAL
) WITHOUT ROWID;
CREATE INDEX refresh_family ON refresh (family);
CREATE INDEX refresh_user ON refresh (user_id);
CREATE INDEX refresh_expiry ON refresh (expires_at);

CREATE TABLE ticket (
    hash       BLOB PRIMARY KEY,
    principal  TEXT NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX ticket_expiry ON ticket (expires_at);

CREATE TABLE answer (
    actor      TEXT NOT NULL,
    key        TEXT NOT NULL,
    asked      BLOB NOT NULL,
    created_at REAL NOT NULL,
    status     INTEGER,
    headers    TEXT,
    body       BLOB,
    PRIMARY KEY (actor, key)
) WITHOUT ROWID;
CREATE INDEX answer_age ON answer (created_at);

CREATE TABLE schedule (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      INTEGER NOT NULL,
    rule         TEXT NOT NULL,
    is_enabled   INTEGER NOT NULL,
    is_of_task   INTEGER NOT NULL DEFAULT 0,
    created_by   TEXT NOT NULL,
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL,
    next_fire_at REAL,
    run_at       REAL
);
CREATE INDEX schedule_task ON schedule (task_id, id);
CREATE UNIQUE INDEX schedule_of_task ON schedule (task_id) WHERE is_of_task;
CREATE INDEX schedule_due ON schedule (run_at) WHERE is_enabled AND run_at IS NOT NULL;

CREATE TABLE firing (
    schedule_id INTEGER NOT NULL,
    fire_at     REAL NOT NULL,
    at          REAL NOT NULL,
    outcome     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    run_id      INTEGER,
    tries       INTEGER NOT NULL DEFAULT 0,
    is_watched  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (schedule_id, fire_at)
) WITHOUT ROWID;
CREATE INDEX firing_watched ON firing (schedule_id, fire_at) WHERE is_watched;

CREATE TABLE leader (
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until REAL NOT NULL
);
INSERT INTO leader VALUES ('', 0, 0);

CREATE TABLE notice_target (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,
    address    TEXT NOT NULL,
    task_id    INTEGER,
    events     TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL
);

CREATE TABLE notice (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    target_id  INTEGER NOT NULL,
    event_id   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    run_id     INTEGER NOT NULL,
    data       TEXT NOT NULL,
    created_at REAL NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    due_at     REAL,
    ended_at   REAL,
    error      TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX notice_once ON notice (target_id, event_id, name);
CREATE INDEX notice_due ON notice (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notice_target_id ON notice (target_id, id);

CREATE TABLE metric (
    name   TEXT NOT NULL,
    labels TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (name, labels)
) WITHOUT ROWID;
