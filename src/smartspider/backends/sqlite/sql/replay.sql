-- live: requests of a run that the frontier holds
SELECT coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL), 0)
     + coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL), 0)
     + (SELECT count(*) FROM later WHERE run_id = ?1)
     + (SELECT count(*) FROM lease WHERE run_id = ?1)

-- open: requests of a run that are to be fetched, as its counters have it
SELECT total - done - redirect - missing - skipped - dead - broken FROM run WHERE id = ?

-- open_rows: the rows themselves
SELECT id FROM url WHERE run_id = ? AND state = 'open' AND id > ? ORDER BY id LIMIT ?
