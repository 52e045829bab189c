-- get_run: a run with its counters; requests in flight as last counted by the keeper
SELECT id, task_name, (SELECT spec FROM task_version WHERE task_id = run.task_id AND number = run.task_version), spec_hash, state,
       reason, created_at, started_at, finished_at,
       task_id, task_version, started_by, active_s, resumed_at, max_duration_s, tuning, revision, needs,
       coalesce((SELECT leased FROM load WHERE run_id = run.id), 0),
       total, done, redirect, missing, skipped, dead, broken, items, rejected, duplicates, updated, duplicate_urls,
       retries, returns, late, bytes_read, left_out, files
FROM run WHERE id = ?

-- get_run__write: the same, locked
SELECT id, task_name, (SELECT spec FROM task_version WHERE task_id = run.task_id AND number = run.task_version), spec_hash, state,
       reason, created_at, started_at, finished_at,
       task_id, task_version, started_by, active_s, resumed_at, max_duration_s, tuning, revision, needs,
       coalesce((SELECT leased FROM load WHERE run_id = run.id), 0),
       total, done, redirect, missing, skipped, dead, broken, items, rejected, duplicates, updated, duplicate_urls,
       retries, returns, late, bytes_read, left_out, files
FROM run WHERE id = ? FOR NO KEY UPDATE OF run

-- runs: all, newest first
SELECT id FROM run WHERE id < ? ORDER BY id DESC LIMIT nullif(?::bigint, -1)

-- runs_named: of the tasks with a name, newest first
SELECT id FROM run WHERE task_name = ? AND id < ? ORDER BY id DESC LIMIT nullif(?::bigint, -1)

-- live_runs: live runs, oldest first
SELECT id FROM run WHERE state IN ('queued', 'running', 'stopping') ORDER BY id

-- failed_page__many: a request in a state, as a retry reads it, for many
SELECT id, host_id, -priority, returns, cause, is_next_page FROM url
WHERE id = ANY (?::bigint[]) AND state = (?::text[])[1] ORDER BY id

-- open_again: reopen a request for another visit
UPDATE url SET state = 'open', visit = visit + 1, reason = NULL, cause = NULL, status = NULL, target_id = NULL, attempts = 0,
    lone_returns = 0, closed_at = NULL, due_at = NULL, proxy_id = NULL, cookies_id = NULL
WHERE id = ?

-- open_again__many: reopen a request for another visit, for many
UPDATE url SET state = 'open', visit = visit + 1, reason = NULL, cause = NULL, status = NULL, target_id = NULL, attempts = 0,
    lone_returns = 0, closed_at = NULL, due_at = NULL, proxy_id = NULL, cookies_id = NULL
WHERE id = ANY (?::bigint[])

-- has_open: whether a run has open requests; the index is read only if the counters say that there are none, since it
-- still has an entry for each request that was open since the keeper last scanned it (hence its order)
SELECT CASE WHEN (SELECT total > done + redirect + missing + skipped + dead + broken FROM run WHERE id = ?1) THEN true
            ELSE (SELECT id FROM url WHERE run_id = ?1 AND state = 'open' ORDER BY id LIMIT 1) IS NOT NULL END

-- close_rest: skip a bounded number of open requests
UPDATE url SET state = 'skipped', reason = ?2, cause = ?5, closed_at = ?3
WHERE id IN (SELECT id FROM url WHERE run_id = ?1 AND state = 'open'
             AND (?4::bigint <> 0 OR id NOT IN (SELECT url_id FROM lease WHERE run_id = ?1))
             AND NOT (?6::bigint <> 0 AND page LIKE '@file:%') LIMIT 5000)
RETURNING id, is_next_page

-- entry_fetched: whether any entry returned a page, or at least an answer
SELECT EXISTS (SELECT 1 FROM url u LEFT JOIN url t ON t.id = u.target_id WHERE u.run_id = ? AND u.is_entry <> 0
               AND (u.state IN ('done', 'missing') OR t.state IN ('done', 'missing')))

-- entry_reason: the reason of the first failed entry
SELECT url, coalesce(reason, state) FROM url
WHERE run_id = ? AND is_entry <> 0 AND state NOT IN ('done', 'missing', 'redirect') ORDER BY id LIMIT 1

-- cleaning: changed values by cursor
SELECT c.id, u.url, c.item, c.step, c.field, c.before, c.after, c.note FROM cleaning c JOIN url u ON u.id = c.url_id
WHERE c.id > ?1 AND c.id < ?2 AND (?3::text IS NULL OR c.field = ?3)
  AND (?4::text IS NULL OR c.step = ?4 OR right(c.step, length(?4) + 1) = ' ' || ?4)
ORDER BY c.id LIMIT ?5

-- lease_place: the worker that leases a request
SELECT worker.name, lease.deadline_at FROM lease JOIN worker ON worker.id = lease.worker_id
WHERE url_id = ? AND worker.gone_at IS NULL

-- later_place: when a request is retried
SELECT due_at FROM url WHERE id = ?1 AND state = 'open' AND due_at > ?2

-- host_queues: queues of a run by host
SELECT l.host_id, h.name, l.queued, h.held_until, h.hold_reason,
       (SELECT count(*) FROM lease WHERE host_id = l.host_id)
FROM (SELECT host_id, (SELECT count(*) FROM (SELECT 1 FROM url WHERE run_id = ?1 AND host_id = lane.host_id
          AND state = 'open' AND NOT EXISTS (SELECT 1 FROM lease WHERE url_id = url.id) LIMIT 10000) AS few) AS queued
      FROM lane WHERE run_id = ?1) AS l
JOIN host h ON h.id = l.host_id
WHERE l.queued > 0 OR EXISTS (SELECT 1 FROM lease WHERE host_id = l.host_id AND run_id = ?1)
ORDER BY l.queued DESC LIMIT ?2

-- gaps: the smallest gap before requests of a run to a host, and how many were too short
SELECT min(gap), min(asked_s), count(*) FILTER (WHERE gap < delay_s - 0.001),
       (SELECT count(*) FROM send WHERE host_id = ?1 AND run_id = ?2),
       (SELECT max(at) - min(at) FROM send WHERE host_id = ?1 AND run_id = ?2)
FROM (
    SELECT run_id, at - lag(at) OVER (ORDER BY at) AS gap, delay_s AS asked_s,
           least(delay_s, lag(delay_s) OVER (ORDER BY at)) AS delay_s
    FROM send WHERE host_id = ?1
) AS sent WHERE gap IS NOT NULL AND run_id = ?2

-- recent__many: the newest runs of a task, for many
SELECT newest.* FROM unnest(?::bigint[], ?::bigint[]) AS asked (task_id, most)
CROSS JOIN LATERAL (
    SELECT task_id, id, state, items, dead + broken, created_at, finished_at FROM run
    WHERE run.task_id = asked.task_id ORDER BY id DESC LIMIT asked.most) AS newest
