-- open_rows: open requests of unfinished runs
SELECT count(*) FROM url WHERE state = 'open'
AND run_id IN (SELECT id FROM run WHERE state NOT IN ('completed', 'failed', 'cancelled'))

-- numbers: the last number of each table
SELECT name, seq FROM sqlite_sequence

-- audit_head: the end of the audit log
SELECT last, hash FROM audit_head

-- log_bytes: size of all log lines
SELECT bytes FROM log_size

-- last_notified: the last event for which notifications were created; NULL if none
SELECT (SELECT value FROM meta WHERE name = 'notifications')
