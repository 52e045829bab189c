-- progress: the counters of a run, with the requests in flight as last counted by the keeper
UPDATE run SET told_at = ?2, untold = 0, next_event = next_event + 1
WHERE id = ?1 AND untold <> 0 AND told_at <= ?3
RETURNING next_event - 1, state, coalesce((SELECT leased FROM load WHERE run_id = ?1), 0),
          total, done, redirect, missing, skipped, dead, broken, items, rejected, duplicates, updated, duplicate_urls,
          retries, returns, late, bytes_read, left_out, files, point_at, point_s, points
