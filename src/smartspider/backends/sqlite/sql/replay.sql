-- live: number of requests of a run in the frontier
SELECT coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL), 0)
     + coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL), 0)
     + (SELECT count(*) FROM later WHERE run_id = ?1)
     + (SELECT count(*) FROM lease WHERE run_id = ?1)

-- open: number of open requests of a run, by its counters
SELECT total - done - redirect - missing - skipped - dead - broken FROM run WHERE id = ?

-- open_rows: ids of open rows
SELECT id FROM url WHERE run_id = ? AND state = 'open' AND id > ? ORDER BY id LIMIT ?
