-- The data folder, format 5. Ids of url, item, reject and cleaning rows carry their run: run_id << 40 | number.

-- ---------------------------------------------------------------- the store

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NUMERIC NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', 1), ('token', 0);

CREATE TABLE clock (                                    -- one row: how store time is computed
    shift_s REAL NOT NULL,                                -- see `store/clock.py`
    boot    TEXT NOT NULL,
    slept_s REAL NOT NULL,
    ahead_s REAL,                                         -- a wall clock that is not believed; NULL: it is
    since   REAL,
    steps   INTEGER NOT NULL,
    returns INTEGER NOT NULL
);
INSERT INTO clock VALUES (0, 'none', 0, NULL, NULL, 0, 0);

CREATE TABLE task (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    owner      TEXT NOT NULL,                           -- user or token that created it
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    version    INTEGER NOT NULL,                        -- the newest version
    deleted_at REAL                                     -- its versions stay for its runs
);
CREATE UNIQUE INDEX task_name ON task (name) WHERE deleted_at IS NULL;
CREATE INDEX task_owner ON task (owner) WHERE deleted_at IS NULL;

CREATE TABLE task_version (                             -- never changed
    task_id    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    spec       BLOB NOT NULL,
    spec_hash  TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at REAL NOT NULL,
    note       TEXT NOT NULL,
    PRIMARY KEY (task_id, number)
);

CREATE TABLE run (                                      -- small: every settle writes its row again
    id             INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice
    task_id        INTEGER NOT NULL DEFAULT 0,
    task_version   INTEGER NOT NULL DEFAULT 0,
    task_name      TEXT NOT NULL,
    spec_hash      TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT NOT NULL DEFAULT '',
    created_at     REAL NOT NULL,
    started_at     REAL,
    finished_at    REAL,
    resumed_at     REAL,                                -- start of the present uninterrupted running time
    active_s       REAL NOT NULL DEFAULT 0,             -- running time before that
    asked_at       REAL NOT NULL DEFAULT 0,             -- last time a worker leased for it
    -- settings
    weight         INTEGER NOT NULL,
    concurrency    INTEGER NOT NULL,
    delay_s        REAL NOT NULL,                       -- between its requests to a host
    gate_s         REAL NOT NULL,                       -- the delay it asks of gates, where all runs keep it
    per_host       INTEGER NOT NULL,
    per_domain     INTEGER,
    adaptive       INTEGER NOT NULL,
    max_pages      INTEGER,
    max_items      INTEGER,
    max_duration_s REAL,
    max_errors     INTEGER,
    max_host_urls  INTEGER,
    guard_row      INTEGER,
    guard_rate     REAL,
    guard_after    INTEGER NOT NULL,
    guard_pauses   INTEGER NOT NULL,
    policies       BLOB,                                -- dedup and recrawl policies; NULL: none
    started_by     TEXT NOT NULL DEFAULT '',            -- its origin: an actor, `schedule:3`, `retry:7`
    needs          TEXT NOT NULL DEFAULT 'http',        -- capabilities a worker must have, separated by spaces
    tuning         BLOB,                                -- settings changed since its creation, as JSON; NULL: none
    revision       INTEGER NOT NULL DEFAULT 0,          -- number of changes
    knobs          BLOB,                                -- settings of its task, as JSON
    -- counters
    next_url       INTEGER NOT NULL DEFAULT 1,
    next_item      INTEGER NOT NULL DEFAULT 1,
    failures_row   INTEGER NOT NULL DEFAULT 0,
    total          INTEGER NOT NULL DEFAULT 0,
    done           INTEGER NOT NULL DEFAULT 0,
    redirect       INTEGER NOT NULL DEFAULT 0,
    missing        INTEGER NOT NULL DEFAULT 0,
    skipped        INTEGER NOT NULL DEFAULT 0,
    dead           INTEGER NOT NULL DEFAULT 0,
    broken         INTEGER NOT NULL DEFAULT 0,
    items          INTEGER NOT NULL DEFAULT 0,
    rejected       INTEGER NOT NULL DEFAULT 0,
    duplicates     INTEGER NOT NULL DEFAULT 0,
    updated        INTEGER NOT NULL DEFAULT 0,          -- changes of items by a later duplicate
    duplicate_urls INTEGER NOT NULL DEFAULT 0,
    retries        INTEGER NOT NULL DEFAULT 0,
    returns        INTEGER NOT NULL DEFAULT 0,
    late           INTEGER NOT NULL DEFAULT 0,
    bytes_read     INTEGER NOT NULL DEFAULT 0,
    left_out       INTEGER NOT NULL DEFAULT 0,             -- links that became no request: rows of left_out
    fields         BLOB,                                -- fields of its items, and whether any row has a value, as JSON
    files          INTEGER NOT NULL DEFAULT 0,          -- files among the stored pages
    cookie_version INTEGER NOT NULL DEFAULT 0,          -- settles that changed its cookies
    next_event     INTEGER NOT NULL DEFAULT 1,
    told_at        REAL NOT NULL DEFAULT 0,             -- time of its last progress event
    untold         INTEGER NOT NULL DEFAULT 0,          -- 1 if the progress changed since
    point_at       REAL NOT NULL DEFAULT 0,             -- time of the last point of its series
    point_s        REAL NOT NULL DEFAULT 1,             -- the time between two of them, doubled as it grows
    points         INTEGER NOT NULL DEFAULT 0           -- their number
);
CREATE INDEX run_of_task ON run (task_id, id);
CREATE INDEX run_live ON run (id) WHERE state IN ('queued', 'running', 'stopping');
CREATE INDEX run_state ON run (state, id);
CREATE INDEX run_task_state ON run (task_id, state, id);
CREATE INDEX run_task ON run (task_name, id);
CREATE INDEX run_unfinished ON run (task_id, id) WHERE state NOT IN ('completed', 'failed', 'cancelled');

CREATE TABLE host (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    domain      TEXT NOT NULL,                          -- registrable domain
    sent_until  REAL NOT NULL DEFAULT 0,                -- end of the last slot
    turn        REAL NOT NULL DEFAULT 0,                -- service count of the lane that was served last
    robots_s    REAL NOT NULL DEFAULT 0,                -- Crawl-delay
    adaptive_s  REAL NOT NULL DEFAULT 0,                -- adaptive delay
    slowed_at   REAL NOT NULL DEFAULT 0,                -- when it was last increased
    operator_s  REAL NOT NULL DEFAULT 0,                -- set by an operator
    held_until  REAL NOT NULL DEFAULT 0,
    hold_reason TEXT NOT NULL DEFAULT '',
    has_answered INTEGER NOT NULL DEFAULT 0,            -- 1 if it ever answered
    failures    INTEGER NOT NULL DEFAULT 0,             -- consecutive failures to reach it
    openings    INTEGER NOT NULL DEFAULT 0              -- consecutive openings of its circuit
);
CREATE INDEX host_domain ON host (domain);
CREATE INDEX host_held ON host (held_until) WHERE held_until > 0;

CREATE TABLE owner_gate (                               -- holds and delays of users, for their own runs
    owner       TEXT NOT NULL,
    host_id     INTEGER NOT NULL,
    delay_s     REAL NOT NULL DEFAULT 0,
    held_until  REAL NOT NULL DEFAULT 0,
    hold_reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (owner, host_id)
) WITHOUT ROWID;
CREATE INDEX owner_gate_host ON owner_gate (host_id);

CREATE TABLE url (
    id           INTEGER PRIMARY KEY,
    run_id       INTEGER NOT NULL,
    fingerprint  BLOB NOT NULL,
    visit        INTEGER NOT NULL DEFAULT 0,            -- raised when it is reopened
    host_id      INTEGER NOT NULL,
    url          TEXT NOT NULL,
    page         TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    depth        INTEGER NOT NULL,
    is_entry     INTEGER NOT NULL,
    is_next_page INTEGER NOT NULL DEFAULT 0,            -- found by pagination
    parent_id    INTEGER,
    extras       BLOB,                                  -- method, headers, body, meta; NULL for a plain GET
    state        TEXT NOT NULL DEFAULT 'open',
    reason       TEXT,
    cause        TEXT,                                  -- why it did not bring what it was made for: a code of core/frontier/cause.py
    status       INTEGER,
    items        INTEGER NOT NULL DEFAULT 0,            -- number of stored items
    target_id    INTEGER,                               -- target of a redirect
    attempts     INTEGER NOT NULL DEFAULT 0,            -- failed fetches
    returns      INTEGER NOT NULL DEFAULT 0,            -- leases lost with their worker
    lone_returns INTEGER NOT NULL DEFAULT 0,            -- those in which it was leased alone
    found_at     REAL NOT NULL,
    closed_at    REAL,
    proxy_id     INTEGER,                               -- the proxy of a pool that its page came through
    cookies_id   INTEGER                                -- the cookies of the vault that it was sent with
);
CREATE UNIQUE INDEX url_identity ON url (run_id, fingerprint);
CREATE INDEX url_open ON url (run_id) WHERE state = 'open';
CREATE INDEX url_special ON url (run_id, url) WHERE extras IS NOT NULL;
CREATE INDEX url_closed ON url (run_id, state) WHERE state <> 'open';
CREATE INDEX url_skipped ON url (run_id, cause, is_next_page) WHERE state = 'skipped';
CREATE INDEX url_missing_entry ON url (run_id, id) WHERE state = 'missing' AND is_entry = 1;
CREATE INDEX url_redirected ON url (target_id) WHERE target_id IS NOT NULL;
CREATE INDEX url_lost ON url (run_id, id) WHERE cause IN ('signed_out', 'known_page', 'no_items');
CREATE INDEX url_cause ON url (run_id, cause, id, host_id, state, closed_at) WHERE cause IS NOT NULL;
CREATE INDEX url_next_page ON url (run_id, page, id) WHERE is_next_page = 1;

CREATE TABLE left_out (                                 -- links of a run that became no request
    run_id       INTEGER NOT NULL,
    fingerprint  BLOB NOT NULL,                          -- of the request it would be; no row of url has it
    code         TEXT NOT NULL,                          -- a code of core/requests/refusal.py
    is_next_page INTEGER NOT NULL,                       -- found by pagination
    detail       TEXT NOT NULL,                          -- the rule that refuses it
    url          TEXT NOT NULL,
    parent_id    INTEGER NOT NULL,                       -- the first page that links to it
    PRIMARY KEY (run_id, fingerprint)
) WITHOUT ROWID;
CREATE INDEX left_out_code ON left_out (run_id, code, is_next_page, parent_id);

CREATE TABLE left_out_count (                           -- what a run left out, by reason
    run_id       INTEGER NOT NULL,
    code         TEXT NOT NULL,
    is_next_page INTEGER NOT NULL,
    links        INTEGER NOT NULL,                       -- rows of left_out
    requests     INTEGER NOT NULL,                       -- rows of url that are skipped
    is_cut       INTEGER NOT NULL,                       -- 1 if there were more links than are stored
    PRIMARY KEY (run_id, code, is_next_page)
) WITHOUT ROWID;

CREATE TABLE run_cookie (                               -- cookies that sites set during a run
    run_id       INTEGER NOT NULL,
    domain       TEXT NOT NULL,
    path         BLOB NOT NULL,
    name         BLOB NOT NULL,
    version      INTEGER NOT NULL,                       -- run.cookie_version when it was stored
    value        BLOB NOT NULL,
    number       INTEGER NOT NULL,                       -- order of age
    set_at       REAL NOT NULL,                          -- when it got its value
    is_host_only INTEGER NOT NULL,
    is_secure    INTEGER NOT NULL,
    expires_at   REAL,                                   -- NULL: with the run; 0: it was deleted
    PRIMARY KEY (run_id, domain, path, name)
) WITHOUT ROWID;
CREATE INDEX run_cookie_version ON run_cookie (run_id, version);

CREATE TABLE list_page (                                -- pages of lists, each with what it brought
    chain  INTEGER NOT NULL,                             -- the page that its list begins with
    digest BLOB NOT NULL,                                -- of its items and links
    url_id INTEGER NOT NULL,
    PRIMARY KEY (chain, digest)
) WITHOUT ROWID;
CREATE INDEX list_page_url ON list_page (url_id);

CREATE TABLE file (                                     -- outcomes of requests for files
    run_id      INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,                           -- of the request
    target      BLOB,                                    -- the fingerprint of the request it redirects to
    path        TEXT,                                    -- relative to the folder of all files
    sha256      TEXT,
    bytes       INTEGER,
    type        TEXT,
    PRIMARY KEY (run_id, fingerprint)
) WITHOUT ROWID;

CREATE TABLE item (
    id     INTEGER PRIMARY KEY,
    url_id INTEGER NOT NULL,
    data   TEXT NOT NULL,
    checksum INTEGER                                    -- see `core/items/checksum.py`
);

CREATE TABLE item_key (                                 -- keys of stored items, for dedup
    scope   INTEGER NOT NULL,                           -- the run, or minus the task
    key     BLOB NOT NULL,
    item_id INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX item_key_item ON item_key (item_id);

CREATE TABLE reject (                                   -- rejected items
    id     INTEGER PRIMARY KEY,
    url_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    step   TEXT NOT NULL,
    field  TEXT NOT NULL,
    value  TEXT NOT NULL,                               -- JSON of the field
    data   TEXT NOT NULL                                -- JSON of the whole item
);

CREATE TABLE cleaning (                                 -- values changed by steps, if the task logs them
    id     INTEGER PRIMARY KEY,
    url_id INTEGER NOT NULL,
    item   INTEGER NOT NULL,                            -- its number on the page
    step   TEXT NOT NULL,
    field  TEXT NOT NULL,
    before TEXT NOT NULL,                               -- JSON
    after  TEXT NOT NULL,
    note   TEXT NOT NULL                                -- a remark about a guess
);

CREATE TABLE step_count (
    run_id   INTEGER NOT NULL,
    step     TEXT NOT NULL,
    seen     INTEGER NOT NULL,
    changed  INTEGER NOT NULL,
    emptied  INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    unsure   INTEGER NOT NULL,
    PRIMARY KEY (run_id, step)
) WITHOUT ROWID;

CREATE TABLE visited (                                  -- remembered pages of tasks with a recrawl policy
    task_id       INTEGER NOT NULL,
    fingerprint   BLOB NOT NULL,
    run_id        INTEGER NOT NULL,                     -- last run that fetched it
    fetched_at    REAL NOT NULL,
    changed_at    REAL NOT NULL,
    interval_s    REAL,                                 -- adaptive recrawl interval
    content       BLOB NOT NULL,                        -- hash of its content
    etag          TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    context       BLOB NOT NULL,                        -- hash of task and request; with another one the page is read anew
    page          BLOB,                                 -- items and links, if unchanged pages are reused
    PRIMARY KEY (task_id, fingerprint)
) WITHOUT ROWID;
CREATE INDEX visited_run ON visited (run_id);

CREATE TABLE attempt (
    id        INTEGER PRIMARY KEY,
    url_id    INTEGER NOT NULL,
    at        REAL NOT NULL,
    status    INTEGER,
    reason    TEXT NOT NULL,
    cause     TEXT NOT NULL,
    elapsed_s REAL NOT NULL,
    delay_s   REAL,                                     -- the delay in force for its request
    proxy_id  INTEGER,                                  -- the proxy of a pool that it went through
    cookies_id INTEGER                                  -- the cookies of the vault that it was sent with
);
CREATE INDEX attempt_url ON attempt (url_id);

CREATE TABLE robots (
    origin     TEXT PRIMARY KEY,
    host_id    INTEGER NOT NULL,
    delay_s    REAL NOT NULL,                           -- Crawl-delay
    status     INTEGER NOT NULL,
    body       BLOB,
    fetched_at REAL NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX robots_host ON robots (host_id);

CREATE TABLE visit (                                    -- requests of a run to a host
    run_id   INTEGER NOT NULL,
    host_id  INTEGER NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0,
    refusals INTEGER NOT NULL DEFAULT 0,
    first_at REAL NOT NULL,
    last_at  REAL NOT NULL,
    PRIMARY KEY (run_id, host_id)
) WITHOUT ROWID;

CREATE TABLE send (                                     -- send times of requests, if a delay was in force
    host_id INTEGER NOT NULL,
    at      REAL NOT NULL,
    token   INTEGER NOT NULL,                           -- token of its lease
    run_id  INTEGER NOT NULL,                           -- negative: a crawl with another folder, just before that run
    delay_s REAL NOT NULL
);
CREATE UNIQUE INDEX send_host ON send (host_id, at, token);

CREATE TABLE audit (                                    -- a hash chain, append-only
    id       INTEGER PRIMARY KEY,                       -- 1, 2, 3, ...
    at       REAL NOT NULL,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL,                             -- JSON
    previous TEXT NOT NULL,                             -- hash of the previous entry
    hash     TEXT NOT NULL                              -- hash of this entry
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_subject ON audit (subject, id);

CREATE TABLE audit_head (                               -- the end of the chain
    last INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (0, '0000000000000000000000000000000000000000000000000000000000000000');

CREATE TABLE event (                                    -- events of runs
    id     INTEGER PRIMARY KEY AUTOINCREMENT,           -- over all runs, never used twice
    run_id INTEGER NOT NULL,
    number INTEGER NOT NULL,                            -- 1, 2, 3, ... within the run
    at     REAL NOT NULL,
    name   TEXT NOT NULL,
    data   TEXT NOT NULL                                -- JSON
);
CREATE UNIQUE INDEX event_run ON event (run_id, number);

CREATE TABLE run_point (                                -- the series of a run: its progress over time, and marks
    run_id INTEGER NOT NULL,
    number INTEGER NOT NULL,                            -- of the event that it keeps
    at     REAL NOT NULL,
    name   TEXT NOT NULL,
    data   TEXT NOT NULL,                               -- JSON
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

CREATE TABLE log (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      REAL NOT NULL,
    level   INTEGER NOT NULL,                           -- 10 debug, 20 info, 30 warning, 40 error
    event   TEXT NOT NULL,
    task_id INTEGER,
    run_id  INTEGER,
    worker  TEXT NOT NULL,
    host    TEXT,
    url     TEXT,
    error   TEXT,                                       -- type of the error
    text    TEXT NOT NULL,                              -- message
    fields  TEXT NOT NULL                               -- other fields, as JSON
);

CREATE VIRTUAL TABLE log_words USING fts5 (             -- index terms of lines, see store/logs/terms.py
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE log_size (bytes INTEGER NOT NULL);
INSERT INTO log_size VALUES (0);

CREATE TABLE user (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    password   TEXT NOT NULL,                           -- argon2id; empty: cannot sign in
    role       TEXT NOT NULL,
    created_at REAL NOT NULL,
    disabled_at REAL,
    session    INTEGER NOT NULL DEFAULT 1               -- raised to end all sessions
);
CREATE INDEX user_admin ON user (id) WHERE role = 'admin' AND disabled_at IS NULL;

CREATE TABLE token (                                    -- API tokens, by hash
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,
    actor        TEXT NOT NULL,                         -- user it acts for, or itself
    role         TEXT NOT NULL,
    scopes       TEXT NOT NULL,                         -- JSON list; empty: all of its role
    created_by   TEXT NOT NULL,
    created_at   REAL NOT NULL,
    expires_at   REAL,
    used_at      REAL,
    revoked_at   REAL
);
CREATE INDEX token_actor ON token (actor, id);
CREATE INDEX token_name ON token (name, expires_at) WHERE revoked_at IS NULL;

CREATE TABLE refresh (                                  -- refresh tokens, each valid once
    hash       BLOB PRIMARY KEY,
    user_id    INTEGER NOT NULL,
    family     TEXT NOT NULL,                           -- sign-in it belongs to; a second use ends all of it
    expires_at REAL NOT NULL,
    used_at    REAL
) WITHOUT ROWID;
CREATE INDEX refresh_family ON refresh (family);
CREATE INDEX refresh_user ON refresh (user_id);
CREATE INDEX refresh_expiry ON refresh (expires_at);

CREATE TABLE browser_session (                          -- sign-ins of the console, by hash of the cookie
    hash       BLOB PRIMARY KEY,
    user_id    INTEGER,                                 -- NULL: of a token, or of the one in the settings
    family     TEXT NOT NULL,                           -- names the sign-in in access tokens
    principal  TEXT NOT NULL,                           -- JSON
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX browser_session_family ON browser_session (family);
CREATE INDEX browser_session_user ON browser_session (user_id);
CREATE INDEX browser_session_expiry ON browser_session (expires_at);

CREATE TABLE ticket (                                   -- tickets and sign-in links, each valid once
    hash       BLOB PRIMARY KEY,
    principal  TEXT NOT NULL,                           -- JSON
    address    TEXT NOT NULL,                           -- the address it opens; empty: any one WebSocket
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX ticket_expiry ON ticket (expires_at);

CREATE TABLE answer (                                   -- responses to requests with an Idempotency-Key
    actor      TEXT NOT NULL,
    key        TEXT NOT NULL,
    asked      BLOB NOT NULL,                           -- fingerprint of the request
    created_at REAL NOT NULL,
    status     INTEGER,                                 -- NULL while it is in progress
    headers    TEXT,
    body       BLOB,
    PRIMARY KEY (actor, key)
) WITHOUT ROWID;
CREATE INDEX answer_age ON answer (created_at);

CREATE TABLE schedule (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      INTEGER NOT NULL,
    rule         TEXT NOT NULL,                         -- rule, as JSON
    is_enabled   INTEGER NOT NULL,
    is_of_task   INTEGER NOT NULL DEFAULT 0,            -- given by `schedule` in the task
    created_by   TEXT NOT NULL,
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL,
    next_fire_at REAL,                                  -- next due time; NULL: never
    run_at       REAL                                   -- due time with jitter
);
CREATE INDEX schedule_task ON schedule (task_id, id);
CREATE INDEX schedule_creator ON schedule (created_by);
CREATE UNIQUE INDEX schedule_of_task ON schedule (task_id) WHERE is_of_task;
CREATE INDEX schedule_due ON schedule (run_at) WHERE is_enabled AND run_at IS NOT NULL;

CREATE TABLE firing (                                   -- one row for each due time of a schedule
    schedule_id INTEGER NOT NULL,
    fire_at     REAL NOT NULL,
    at          REAL NOT NULL,
    outcome     TEXT NOT NULL,                          -- started, skipped, missed, failed
    reason      TEXT NOT NULL,
    run_id      INTEGER,
    tries       INTEGER NOT NULL DEFAULT 0,             -- retries after failed runs
    is_watched  INTEGER NOT NULL DEFAULT 0,             -- 1 if its run may be retried
    PRIMARY KEY (schedule_id, fire_at)
) WITHOUT ROWID;
CREATE INDEX firing_watched ON firing (schedule_id, fire_at) WHERE is_watched;
CREATE INDEX firing_troubled ON firing (at) WHERE outcome IN ('missed', 'failed');

CREATE TABLE leader (                                   -- one row: the leading keeper
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until REAL NOT NULL
);
INSERT INTO leader VALUES ('', 0, 0);

CREATE TABLE vault (id TEXT NOT NULL);                  -- at most one row: what sealed values are bound to

CREATE TABLE secret (                                   -- named secrets; their values are in `sealed`
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    is_shared  INTEGER NOT NULL,                        -- 1: for the tasks of all users
    version    INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    used_at    REAL
);
CREATE UNIQUE INDEX secret_name ON secret (name);

CREATE TABLE sealed (                                   -- encrypted values, by the record they belong to
    kind     TEXT NOT NULL,
    id       INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    key_id   TEXT NOT NULL,                             -- the master key that wraps the data key
    data_key BLOB NOT NULL,
    value    BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX sealed_key ON sealed (key_id, kind, id);

CREATE TABLE proxy (                                    -- proxies by pool; their URLs are in `sealed`
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    pool         TEXT NOT NULL,
    kind         TEXT NOT NULL,                         -- http, https, socks5, socks5h
    address      TEXT NOT NULL,                         -- host and port, without user and password
    weight       REAL NOT NULL,
    owner        TEXT NOT NULL,
    requests     INTEGER NOT NULL DEFAULT 0,
    failures     INTEGER NOT NULL DEFAULT 0,
    success      REAL NOT NULL DEFAULT 1,               -- moving averages
    latency_s    REAL,
    banned_until REAL NOT NULL DEFAULT 0,
    ban_s        REAL NOT NULL DEFAULT 0,               -- length of the last ban, which the next one doubles
    error        TEXT NOT NULL DEFAULT '',
    created_at   REAL NOT NULL,
    used_at      REAL                                   -- NULL: never
);
CREATE INDEX proxy_pool ON proxy (pool, id);

CREATE TABLE cookie_set (                               -- cookies of logins at sites; their values are in `sealed`
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    domain      TEXT NOT NULL,
    name        TEXT NOT NULL,                          -- empty: none
    owner       TEXT NOT NULL,
    is_shared   INTEGER NOT NULL,                       -- 1: for the tasks of all users
    state       TEXT NOT NULL,                          -- active, invalid, locked
    slots       INTEGER NOT NULL,                       -- requests that may use it at the same time
    check_url   TEXT NOT NULL,
    signed_out  TEXT NOT NULL,                          -- JSON of the rule
    uploads     INTEGER NOT NULL,
    version     INTEGER NOT NULL,                       -- of the last change to its cookies
    usage_count INTEGER NOT NULL,
    used_at     REAL NOT NULL,                          -- 0: never
    reason      TEXT NOT NULL,
    wanted_at   REAL NOT NULL,                          -- when a borrower found no free slot
    checked_at  REAL,
    created_at  REAL NOT NULL,
    updated_at  REAL NOT NULL
);
CREATE UNIQUE INDEX cookie_set_name ON cookie_set (name) WHERE name <> '';
CREATE INDEX cookie_set_domain ON cookie_set (domain, state, used_at, id);

CREATE TABLE cookie_slot (                              -- each is lent to one request at a time
    set_id   INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    token    TEXT NOT NULL,                             -- empty: never lent, or given back
    holder   TEXT NOT NULL,
    until    REAL NOT NULL,
    since    REAL NOT NULL,
    requests INTEGER NOT NULL,                          -- sent by the holder, as far as reported
    PRIMARY KEY (set_id, number)
) WITHOUT ROWID;
CREATE INDEX cookie_slot_token ON cookie_slot (token) WHERE token <> '';

CREATE TABLE stored_cookie (                            -- cookies of sets
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    set_id       INTEGER NOT NULL,
    domain       TEXT NOT NULL,
    path         BLOB NOT NULL,
    name         BLOB NOT NULL,
    version      INTEGER NOT NULL,                      -- cookie_set.version when it was stored
    number       INTEGER NOT NULL,                      -- order of age
    set_at       REAL NOT NULL,                         -- when it got its value
    is_host_only INTEGER NOT NULL,
    is_secure    INTEGER NOT NULL,
    expires_at   REAL                                   -- NULL: none; 0: it was deleted
);
CREATE UNIQUE INDEX stored_cookie_key ON stored_cookie (set_id, domain, path, name);
CREATE INDEX stored_cookie_version ON stored_cookie (set_id, version);

CREATE TABLE notification_target (                      -- targets of notifications
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,                           -- webhook, email
    address    TEXT NOT NULL,
    task_id    INTEGER,                                 -- NULL: all tasks
    events     TEXT NOT NULL,                           -- JSON list
    is_enabled INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL
);

CREATE TABLE notification (                             -- the outbox of notifications
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    target_id  INTEGER NOT NULL,
    event_id   INTEGER NOT NULL,                        -- event it reports
    name       TEXT NOT NULL,
    run_id     INTEGER NOT NULL,
    data       TEXT NOT NULL,                           -- JSON
    created_at REAL NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    due_at     REAL,                                    -- NULL: delivered or given up
    ended_at   REAL,
    error      TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX notification_once ON notification (target_id, event_id, name);
CREATE INDEX notification_due ON notification (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notification_of_target ON notification (target_id, id);

CREATE TABLE metric (                                   -- counters over all workers
    name   TEXT NOT NULL,
    labels TEXT NOT NULL,                               -- JSON, keys sorted
    value  REAL NOT NULL,
    PRIMARY KEY (name, labels)
) WITHOUT ROWID;

CREATE TABLE scaling (                                  -- one row: the desired number of workers
    desired INTEGER NOT NULL,                           -- -1: no decision yet
    at      REAL NOT NULL,
    figure  TEXT NOT NULL                               -- decision, as JSON
);
INSERT INTO scaling VALUES (-1, 0, '');

-- ---------------------------------------------------------------- the frontier: an index of the open rows

CREATE TABLE worker (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL,
    joined_at REAL NOT NULL,
    node      TEXT NOT NULL DEFAULT '',                 -- the machine
    pid       INTEGER NOT NULL DEFAULT 0,
    version   TEXT NOT NULL DEFAULT '',
    capabilities TEXT NOT NULL DEFAULT 'http',         -- names of its transports, separated by spaces
    slots     INTEGER NOT NULL DEFAULT 0,
    is_draining INTEGER NOT NULL DEFAULT 0,             -- 1 if it should finish its leases and leave
    seen_at   REAL NOT NULL DEFAULT 0,
    cpu_s     REAL NOT NULL DEFAULT 0,
    memory    INTEGER NOT NULL DEFAULT 0,               -- bytes
    cpus      INTEGER NOT NULL DEFAULT 0,               -- CPUs of its machine
    is_elastic INTEGER NOT NULL DEFAULT 0,              -- 1 if started by autoscaling
    form      TEXT NOT NULL DEFAULT '{}'                -- health, as JSON
);

CREATE TABLE lane (                                     -- the queue of a run for a host
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL,
    host_id INTEGER NOT NULL,
    queued  INTEGER NOT NULL DEFAULT 0,
    rank    INTEGER NOT NULL DEFAULT 0,                 -- rank of its best request; smaller comes first
    served  REAL NOT NULL DEFAULT 0,                    -- leases divided by weight, for fair sharing of a host
    wake_at REAL,                                       -- closed until then; NULL: open
    sent_until REAL NOT NULL DEFAULT 0                  -- end of its last slot, if a delay applies to its run alone
);
CREATE UNIQUE INDEX lane_identity ON lane (host_id, run_id);
CREATE INDEX lane_open ON lane (run_id, rank) WHERE queued > 0 AND wake_at IS NULL;
CREATE INDEX lane_closed ON lane (run_id, wake_at) WHERE queued > 0 AND wake_at IS NOT NULL;

CREATE TABLE queue (
    lane_id INTEGER NOT NULL,
    rank    INTEGER NOT NULL,
    url_id  INTEGER NOT NULL,
    PRIMARY KEY (lane_id, rank, url_id)
) WITHOUT ROWID;

CREATE TABLE later (
    url_id   INTEGER PRIMARY KEY,
    run_id   INTEGER NOT NULL,
    due_at   REAL NOT NULL,
    is_alone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX later_due ON later (run_id, due_at);
CREATE INDEX later_alone ON later (run_id) WHERE is_alone;

CREATE TABLE lease (
    url_id      INTEGER PRIMARY KEY,
    token       INTEGER NOT NULL,
    run_id      INTEGER NOT NULL,
    host_id     INTEGER NOT NULL,
    worker_id   INTEGER NOT NULL,
    deadline_at REAL NOT NULL,
    is_alone    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX lease_host ON lease (host_id);
CREATE INDEX lease_run ON lease (run_id);
CREATE INDEX lease_alone ON lease (worker_id) WHERE is_alone;
