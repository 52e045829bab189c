-- schema: times are of the machine's monotonic clock, so a file serves one start of the machine
CREATE TABLE IF NOT EXISTS host (
    name         TEXT PRIMARY KEY,
    sent_until   REAL NOT NULL DEFAULT 0,               -- end of the last slot
    held_until   REAL NOT NULL DEFAULT 0,
    hold_reason  TEXT NOT NULL DEFAULT '',
    sent_at      REAL NOT NULL DEFAULT 0,               -- the last request that was sent in a slot
    sent_delay_s REAL NOT NULL DEFAULT 0,               -- the delay in force then
    sent_by      TEXT NOT NULL DEFAULT '',              -- the crawl that sent it
    before_at    REAL NOT NULL DEFAULT 0,               -- the same of the request before it
    before_s     REAL NOT NULL DEFAULT 0,
    before_by    TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claim (                      -- what each crawl asks of a gate
    domain     TEXT NOT NULL,                           -- registrable domain
    host       TEXT NOT NULL,
    crawl      TEXT NOT NULL,                           -- the name of its lock file
    delay_s    REAL NOT NULL,
    per_host   INTEGER NOT NULL,
    per_domain INTEGER,
    in_flight  INTEGER NOT NULL,                        -- its requests in flight
    used_at    REAL NOT NULL,
    asked_at   REAL NOT NULL DEFAULT 0,                 -- when it last waited for a slot; 0: it got one since
    served_at  REAL NOT NULL DEFAULT 0,                 -- when it last got a slot
    PRIMARY KEY (domain, host, crawl)
) WITHOUT ROWID;

-- version: changes with every commit of another connection
PRAGMA data_version

-- host: the gate of a host
SELECT sent_until, held_until, hold_reason FROM host WHERE name = ?

-- claims: what crawls ask of the hosts of a domain; of the own ones, that of one host
SELECT host, crawl, delay_s, per_host, per_domain, in_flight, used_at, asked_at, served_at FROM claim
WHERE domain = ?1 AND (host = ?2 OR crawl <> ?3)

-- put_claim: store what a crawl asks of a gate
INSERT INTO claim (domain, host, crawl, delay_s, per_host, per_domain, in_flight, used_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO UPDATE SET delay_s = ?4, per_host = ?5, per_domain = ?6, in_flight = ?7, used_at = ?8

-- wait: record that a crawl waits for a slot
UPDATE claim SET asked_at = ?4 WHERE domain = ?1 AND host = ?2 AND crawl = ?3

-- serve: record that a crawl got slots, and the requests in flight that use them
UPDATE claim SET asked_at = 0, served_at = ?4, in_flight = in_flight + ?5 WHERE domain = ?1 AND host = ?2 AND crawl = ?3

-- reserve: set the end of the last slot
INSERT INTO host (name, sent_until) VALUES (?1, ?2)
ON CONFLICT DO UPDATE SET sent_until = max(sent_until, ?2)

-- hold: hold a host; a hold is never shortened
INSERT INTO host (name, held_until, hold_reason) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET hold_reason = CASE WHEN ?2 > held_until THEN ?3 ELSE hold_reason END,
                          held_until = max(held_until, ?2)

-- resume: end a hold
UPDATE host SET held_until = 0, hold_reason = '' WHERE name = ?

-- record: set the last request to a host, and return the one before it
INSERT INTO host (name, sent_until, sent_at, sent_delay_s, sent_by) VALUES (?1, ?2, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET before_at = sent_at, before_s = sent_delay_s, before_by = sent_by,
                          sent_at = ?2, sent_delay_s = ?3, sent_by = ?4
RETURNING before_at, before_s, before_by

-- drop_claims: delete what a crawl asks
DELETE FROM claim WHERE crawl = ?

-- prune_claims: delete what nobody asks any more
DELETE FROM claim WHERE used_at + 2 * delay_s < ?

-- prune_hosts: delete gates that have been open for long
DELETE FROM host WHERE max(sent_until, held_until, sent_at) < ?
