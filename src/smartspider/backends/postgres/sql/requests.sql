-- stored__many: the fingerprint of a request with a row in the run, for many
SELECT url.fingerprint FROM url
JOIN unnest(?::bigint[], ?::bytea[]) AS asked (run_id, fingerprint) USING (run_id, fingerprint)

-- total__many: number of rows of a run, for many
SELECT id, total FROM run WHERE id = ANY (?::bigint[])

-- epoch: server, timeline, database, and steps back of store time: a promoted standby or a restored backup has another timeline
SELECT system_identifier || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-'
       || (SELECT oid FROM pg_database WHERE datname = current_database())
       || (SELECT CASE WHEN returns = 0 THEN '' ELSE '-' || returns END FROM clock)
FROM pg_control_system()
