-- make: create the tables for the move and its progress
CREATE TABLE moving (
    id          text PRIMARY KEY,
    shift_s     double precision NOT NULL,              -- by how much this clock is ahead of the other store's
    finished_at double precision
);
CREATE TABLE moving_progress (
    name text PRIMARY KEY,
    last bytea NOT NULL,                                -- key of the last imported row
    rows bigint NOT NULL
)

-- tables: tables of the store
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'smartspider' AND c.relkind IN ('r', 'p')

-- now: time by the server's clock
SELECT extract(epoch FROM clock_timestamp())::float8

-- lock: take the lock of the import
SELECT pg_try_advisory_lock(7305011)

-- others: connections of other programs
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'smartspider' AND pid <> pg_backend_pid()

-- moving: the move that fills the store
SELECT id, shift_s, finished_at IS NOT NULL FROM moving

-- begin: begin a move
INSERT INTO moving VALUES (%s, %s, NULL)

-- progress: progress of a table
SELECT last, rows FROM moving_progress WHERE name = %s

-- advance: add to the progress of a table
INSERT INTO moving_progress VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET last = excluded.last, rows = moving_progress.rows + excluded.rows

-- lanes: the hosts of runs
INSERT INTO lane (run_id, host_id)
SELECT u.run_id, u.host_id FROM url u JOIN run r ON r.id = u.run_id
WHERE u.state = 'open' AND r.state NOT IN ('completed', 'failed', 'cancelled')
GROUP BY u.run_id, u.host_id ON CONFLICT DO NOTHING

-- audit_head: set the end of the chain
UPDATE audit_head SET last = %(last)s, hash = %(hash)s,
                      at = coalesce((SELECT at FROM audit WHERE id = %(last)s), 0)

-- log_size: set the size of the log and the last number
UPDATE log_size SET bytes = %s, last = greatest(last, %s)

-- last_notified: set the last event for which notifications were created
INSERT INTO meta VALUES ('notifications', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- forget_last_notified: remove it
DELETE FROM meta WHERE name = 'notifications'

-- number: continue after this number
SELECT setval(s.name::regclass, greatest(%(number)s, coalesce(pg_sequence_last_value(s.name::regclass), 1)))
FROM (SELECT pg_get_serial_sequence(%(table)s, 'id') AS name) AS s

-- finish: open the store
UPDATE moving SET finished_at = extract(epoch FROM clock_timestamp())::float8
