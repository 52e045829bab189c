-- open_rows: what is still to be fetched for runs that are not over
SELECT count(*) FROM url WHERE state = 'open'
AND run_id IN (SELECT id FROM run WHERE state NOT IN ('completed', 'failed', 'cancelled'))

-- numbers: the number each table gave last
SELECT name, seq FROM sqlite_sequence

-- audit_head: where the audit ends
SELECT last, hash FROM audit_head

-- log_bytes: bytes of all log lines
SELECT bytes FROM log_size

-- last_notified: up to which event notifications were made; NULL: none ever was
SELECT (SELECT value FROM meta WHERE name = 'notifications')
