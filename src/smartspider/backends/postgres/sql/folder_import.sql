-- make: who fills this store, and how far each table is
CREATE TABLE moving (
    id          text PRIMARY KEY,
    shift_s     double precision NOT NULL,              -- how far this clock is ahead of the other store's
    finished_at double precision
);
CREATE TABLE moving_progress (
    name text PRIMARY KEY,
    last bytea NOT NULL,                                -- key of the last row that is here
    rows bigint NOT NULL
)

-- tables: of the store
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'smartspider' AND c.relkind IN ('r', 'p')

-- now: by the clock of the server
SELECT extract(epoch FROM clock_timestamp())::float8

-- lock: only one program fills it at a time
SELECT pg_try_advisory_lock(7305011)

-- others: programs that use it
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'smartspider' AND pid <> pg_backend_pid()

-- moving: who fills it
SELECT id, shift_s, finished_at IS NOT NULL FROM moving

-- begin: somebody does
INSERT INTO moving VALUES (%s, %s, NULL)

-- progress: how far a table is
SELECT last, rows FROM moving_progress WHERE name = %s

-- advance: so many rows more, up to a key
INSERT INTO moving_progress VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET last = excluded.last, rows = moving_progress.rows + excluded.rows

-- lanes: which runs stand at which hosts
INSERT INTO lane (run_id, host_id)
SELECT u.run_id, u.host_id FROM url u JOIN run r ON r.id = u.run_id
WHERE u.state = 'open' AND r.state NOT IN ('completed', 'failed', 'cancelled')
GROUP BY u.run_id, u.host_id ON CONFLICT DO NOTHING

-- audit_head: where the chain ends
UPDATE audit_head SET last = %(last)s, hash = %(hash)s,
                      at = coalesce((SELECT at FROM audit WHERE id = %(last)s), 0)

-- log_size: of all lines, and the number that was given last
UPDATE log_size SET bytes = %s, last = greatest(last, %s)

-- last_notified: up to which event notifications were made
INSERT INTO meta VALUES ('notifications', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- forget_last_notified: notifications begin anew
DELETE FROM meta WHERE name = 'notifications'

-- number: no number up to this one is given again
SELECT setval(s.name::regclass, greatest(%(number)s, coalesce(pg_sequence_last_value(s.name::regclass), 1)))
FROM (SELECT pg_get_serial_sequence(%(table)s, 'id') AS name) AS s

-- finish: from now on it can be used
UPDATE moving SET finished_at = extract(epoch FROM clock_timestamp())::float8
