-- add_run: add a run
INSERT INTO run (task_id, task_version, task_name, spec_hash, state, created_at, weight, concurrency, delay_s, gate_s, per_host, per_domain,
    adaptive, max_pages, max_items, max_duration_s, max_errors, max_host_urls, guard_row, guard_rate, guard_after,
    guard_pauses, policies, knobs, started_by, needs)
VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING id

-- seeds_added: count the entries
UPDATE run SET total = ?, next_url = ? WHERE id = ?

-- get_run: a run with its counters
SELECT id, task_name, (SELECT spec FROM task_version WHERE task_id = run.task_id AND number = run.task_version), spec_hash, state,
       reason, created_at, started_at, finished_at,
       task_id, task_version, started_by, active_s, resumed_at, max_duration_s, tuning, revision, needs,
       (SELECT count(*) FROM lease WHERE run_id = run.id),
       total, done, redirect, missing, skipped, dead, broken, items, rejected, duplicates, updated, duplicate_urls,
       retries, returns, late, bytes_read, left_out, files
FROM run WHERE id = ?

-- unfinished: the oldest unfinished run of a task
SELECT id, state FROM run WHERE task_id = ? AND state NOT IN ('completed', 'failed', 'cancelled') ORDER BY id LIMIT 1

-- runs: all, newest first
SELECT id FROM run WHERE id < ? ORDER BY id DESC LIMIT ?

-- runs_named: of the tasks with a name, newest first
SELECT id FROM run WHERE task_name = ? AND id < ? ORDER BY id DESC LIMIT ?

-- runs_of_task: of a task, newest first
SELECT id FROM run WHERE task_id = ? AND id < ? ORDER BY id DESC LIMIT ?

-- runs_in: in a state, newest first
SELECT id FROM run WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?

-- runs_of_task_in: of a task, in a state, newest first
SELECT id FROM run WHERE task_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?

-- recent: the newest runs of a task
SELECT task_id, id, state, items, dead + broken, created_at, finished_at FROM run
WHERE task_id = ? ORDER BY id DESC LIMIT ?

-- count_unfinished: unfinished runs by state
SELECT state, count(*) FROM run WHERE state IN ('created', 'queued', 'running', 'paused', 'stopping', 'stopped') GROUP BY state

-- live_runs: live runs, oldest first
SELECT id FROM run INDEXED BY run_live WHERE state IN ('queued', 'running', 'stopping') ORDER BY id

-- knobs: the original settings, the changed ones, and the columns
SELECT knobs, tuning, concurrency, weight, delay_s, per_host, max_pages, max_items, max_duration_s, max_errors
FROM run WHERE id = ?

-- tune: change settings
UPDATE run SET tuning = ?, revision = revision + 1, concurrency = ?, weight = ?, delay_s = ?, gate_s = ?, per_host = ?, max_pages = ?,
    max_items = ?, max_duration_s = ?, max_errors = ?
WHERE id = ?

-- failed: requests in a state, in the order they were found, as a retry reads them
SELECT id, host_id, -priority, returns, cause, is_next_page FROM url
WHERE run_id = ? AND state = ? AND state <> 'open' AND id > ? ORDER BY id LIMIT ?

-- failed_with_cause: requests in a state with a cause, as a retry reads them
SELECT id, host_id, -priority, returns, cause, is_next_page FROM url
WHERE run_id = ? AND cause = ? AND cause IS NOT NULL AND state = ? AND id > ? ORDER BY id LIMIT ?

-- failed_page: a request in a state, as a retry reads it
SELECT id, host_id, -priority, returns, cause, is_next_page FROM url WHERE id = ? AND state = ?

-- open_again: reopen a request for another visit
UPDATE url SET state = 'open', visit = visit + 1, reason = NULL, cause = NULL, status = NULL, target_id = NULL, attempts = 0,
    lone_returns = 0, closed_at = NULL, proxy_id = NULL, cookies_id = NULL
WHERE id = ?

-- opened: count reopened requests out of a state
UPDATE run SET dead = dead - ?, broken = broken - ?, skipped = skipped - ?, untold = 1 WHERE id = ?

-- set_state: change the state of a run, and add the time it was running
UPDATE run SET
    active_s = active_s + CASE WHEN resumed_at IS NOT NULL AND ?2 <> 'running' THEN ?4 - resumed_at ELSE 0 END,
    resumed_at = CASE WHEN ?2 = 'running' THEN coalesce(resumed_at, ?4) END,
    started_at = CASE WHEN ?2 = 'running' THEN coalesce(started_at, ?4) ELSE started_at END,
    finished_at = CASE WHEN ?2 IN ('completed', 'failed', 'cancelled') THEN ?4 END,
    failures_row = CASE WHEN ?2 = 'running' THEN 0 ELSE failures_row END,
    state = ?2, reason = ?3
WHERE id = ?1

-- has_open: whether a run has open requests
SELECT EXISTS (SELECT 1 FROM url WHERE run_id = ?1 AND state = 'open')

-- close_rest: skip a bounded number of open requests
UPDATE url SET state = 'skipped', reason = ?2, cause = ?5, closed_at = ?3
WHERE id IN (SELECT id FROM url WHERE run_id = ?1 AND state = 'open'
             AND (?4 OR id NOT IN (SELECT url_id FROM lease WHERE run_id = ?1))
             AND NOT (?6 AND page LIKE '@file:%') LIMIT 5000)
RETURNING id, is_next_page

-- count_skipped: count them
UPDATE run SET skipped = skipped + ? WHERE id = ?

-- entry_fetched: whether any entry returned a page, or at least an answer
SELECT EXISTS (SELECT 1 FROM url u LEFT JOIN url t ON t.id = u.target_id WHERE u.run_id = ? AND u.is_entry
               AND (u.state IN ('done', 'missing') OR t.state IN ('done', 'missing')))

-- next_pages_left_out: next pages that a run left out, by reason
SELECT code, links + requests FROM left_out_count WHERE run_id = ? AND is_next_page = 1 AND links + requests > 0

-- entry_reason: the reason of the first failed entry
SELECT url, coalesce(reason, state) FROM url
WHERE run_id = ? AND is_entry AND state NOT IN ('done', 'missing', 'redirect') ORDER BY id LIMIT 1

-- items: committed items by cursor
SELECT i.id, coalesce(u.url, ''), i.data, coalesce(u.closed_at, 0), i.url_id, i.checksum
FROM item i LEFT JOIN url u ON u.id = i.url_id
WHERE i.id > ? AND i.id < ? ORDER BY i.id LIMIT 2000

-- row_counts: the counters of the items of a run, unless it is being deleted
SELECT items, next_item, updated FROM run WHERE id = ?1 AND NOT (state = 'cancelled' AND coalesce(reason, '') = ?2)

-- rejects: rejected items by cursor
SELECT r.id, u.url, r.reason, r.step, r.field, r.value, r.data FROM reject r JOIN url u ON u.id = r.url_id
WHERE r.id > ? AND r.id < ? ORDER BY r.id LIMIT ?

-- cleaning: changed values by cursor
SELECT c.id, u.url, c.item, c.step, c.field, c.before, c.after, c.note FROM cleaning c JOIN url u ON u.id = c.url_id
WHERE c.id > ?1 AND c.id < ?2 AND (?3 IS NULL OR c.field = ?3) AND (?4 IS NULL OR c.step = ?4 OR substr(c.step, -length(?4) - 1) = ' ' || ?4)
ORDER BY c.id LIMIT ?5

-- step_counts: the counts of each step
SELECT step, seen, changed, emptied, rejected, unsure FROM step_count WHERE run_id = ?

-- urls_by_print: rows of a request
SELECT id FROM url WHERE fingerprint = ?1 AND run_id = ?2

-- url_record: the details of a row
SELECT u.id, u.run_id, u.url, u.state, coalesce(u.reason, ''), u.cause, u.status, u.page, u.depth, u.priority, u.attempts,
       u.returns, u.items,
       (SELECT url FROM url p WHERE p.id = u.parent_id), (SELECT url FROM url t WHERE t.id = u.target_id),
       u.found_at, u.closed_at, u.proxy_id, u.cookies_id
FROM url u WHERE u.id = ?1

-- pages: requests of a run that match, among some, in the order they were found
SELECT id, url, state, coalesce(reason, ''), cause, status, page, depth, attempts, items, found_at, closed_at
FROM (SELECT id, url, state, reason, cause, status, page, depth, attempts, items, found_at, closed_at, host_id
      FROM url WHERE id > ?5 AND id < ?9 ORDER BY id LIMIT ?6) AS scanned
WHERE (CAST(?1 AS bigint) IS NULL OR host_id = CAST(?1 AS bigint))
  AND (CAST(?2 AS bigint) IS NULL OR status = CAST(?2 AS bigint))
  AND (CAST(?3 AS text) IS NULL OR page = CAST(?3 AS text))
  AND (CAST(?4 AS text) IS NULL OR lower(url) LIKE CAST(?4 AS text) ESCAPE '\')
LIMIT ?7 OFFSET ?8

-- pages_open: among the open ones
SELECT id, url, state, coalesce(reason, ''), cause, status, page, depth, attempts, items, found_at, closed_at
FROM (SELECT id, url, state, reason, cause, status, page, depth, attempts, items, found_at, closed_at, host_id
      FROM url WHERE run_id = ?9 AND state = 'open' AND id > ?5 ORDER BY id LIMIT ?6) AS scanned
WHERE (CAST(?1 AS bigint) IS NULL OR host_id = CAST(?1 AS bigint))
  AND (CAST(?2 AS bigint) IS NULL OR status = CAST(?2 AS bigint))
  AND (CAST(?3 AS text) IS NULL OR page = CAST(?3 AS text))
  AND (CAST(?4 AS text) IS NULL OR lower(url) LIKE CAST(?4 AS text) ESCAPE '\')
LIMIT ?7 OFFSET ?8

-- pages_closed: among those closed in a state
SELECT id, url, state, coalesce(reason, ''), cause, status, page, depth, attempts, items, found_at, closed_at
FROM (SELECT id, url, state, reason, cause, status, page, depth, attempts, items, found_at, closed_at, host_id
      FROM url WHERE run_id = ?9 AND state = ?10 AND state <> 'open' AND id > ?5 ORDER BY id LIMIT ?6) AS scanned
WHERE (CAST(?1 AS bigint) IS NULL OR host_id = CAST(?1 AS bigint))
  AND (CAST(?2 AS bigint) IS NULL OR status = CAST(?2 AS bigint))
  AND (CAST(?3 AS text) IS NULL OR page = CAST(?3 AS text))
  AND (CAST(?4 AS text) IS NULL OR lower(url) LIKE CAST(?4 AS text) ESCAPE '\')
LIMIT ?7 OFFSET ?8

-- pages_with_cause: among those with a cause
SELECT id, url, state, coalesce(reason, ''), cause, status, page, depth, attempts, items, found_at, closed_at
FROM (SELECT id, url, state, reason, cause, status, page, depth, attempts, items, found_at, closed_at, host_id
      FROM url WHERE run_id = ?9 AND cause = ?10 AND cause IS NOT NULL AND id > ?5 ORDER BY id LIMIT ?6) AS scanned
WHERE (CAST(?1 AS bigint) IS NULL OR host_id = CAST(?1 AS bigint))
  AND (CAST(?2 AS bigint) IS NULL OR status = CAST(?2 AS bigint))
  AND (CAST(?3 AS text) IS NULL OR page = CAST(?3 AS text))
  AND (CAST(?4 AS text) IS NULL OR lower(url) LIKE CAST(?4 AS text) ESCAPE '\')
  AND (CAST(?11 AS text) IS NULL OR state = CAST(?11 AS text))
LIMIT ?7 OFFSET ?8

-- host_id: the number of a host
SELECT id FROM host WHERE name = ?

-- lease_place: the worker that leases a request
SELECT worker.name, lease.deadline_at FROM lease LEFT JOIN worker ON worker.id = lease.worker_id WHERE url_id = ?

-- later_place: when a request is retried
SELECT due_at FROM later WHERE url_id = ?1 AND due_at > ?2

-- attempts: failed attempts
SELECT at, status, reason, cause, elapsed_s, delay_s, proxy_id, cookies_id FROM attempt WHERE url_id = ? ORDER BY id

-- host_queues: queues of a run by host
SELECT l.host_id, h.name, l.queued, h.held_until, h.hold_reason,
       (SELECT count(*) FROM lease WHERE host_id = h.id)
FROM lane l JOIN host h ON h.id = l.host_id
WHERE l.run_id = ?1 AND (l.queued > 0 OR EXISTS (SELECT 1 FROM lease WHERE host_id = h.id AND run_id = ?1))
ORDER BY l.queued DESC LIMIT ?2

-- receipt: requests of a run by host
SELECT h.id, h.name, v.requests, v.refusals, v.first_at, v.last_at FROM visit v JOIN host h ON h.id = v.host_id
WHERE v.run_id = ? ORDER BY v.requests DESC

-- gaps: the smallest gap before requests of a run to a host, and how many were too short
SELECT min(gap), min(asked_s), sum(gap < delay_s - 0.001), (SELECT count(*) FROM send WHERE host_id = ?1 AND run_id = ?2),
       (SELECT max(at) - min(at) FROM send WHERE host_id = ?1 AND run_id = ?2)
FROM (
    SELECT run_id, at - lag(at) OVER (ORDER BY at) AS gap, delay_s AS asked_s,
           min(delay_s, lag(delay_s) OVER (ORDER BY at)) AS delay_s
    FROM send WHERE host_id = ?1
) WHERE gap IS NOT NULL AND run_id = ?2

-- is_compared_with: whether runs of its task compare their pages or items with those of a run
SELECT EXISTS (SELECT 1 FROM visited WHERE run_id = ?1)
    OR EXISTS (SELECT 1 FROM item_key WHERE item_id >= ?2 AND item_id < ?3 AND scope < 0)

-- delete_begun: cancel a run before it is deleted
UPDATE run SET state = 'cancelled', reason = ? WHERE id = ?

-- delete_keys: delete some thousand item keys of a run
DELETE FROM item_key WHERE (scope, key) IN
    (SELECT scope, key FROM item_key WHERE item_id >= ? AND item_id < ? LIMIT 9999)

-- delete_rejects: delete rejects
DELETE FROM reject WHERE id IN (SELECT id FROM reject WHERE id >= ? AND id < ? LIMIT 999)

-- delete_changes: delete the cleaning log
DELETE FROM cleaning WHERE id IN (SELECT id FROM cleaning WHERE id >= ? AND id < ? LIMIT 9999)

-- delete_items: delete items
DELETE FROM item WHERE id IN (SELECT id FROM item WHERE id >= ? AND id < ? LIMIT 9999)

-- delete_attempts: delete failed attempts
DELETE FROM attempt WHERE id IN (SELECT id FROM attempt WHERE url_id >= ? AND url_id < ? LIMIT 999)

-- delete_urls: delete requests
DELETE FROM url WHERE id IN (SELECT id FROM url WHERE id >= ? AND id < ? LIMIT 9999)

-- delete_left_out: delete links that were left out
DELETE FROM left_out WHERE (run_id, fingerprint) IN (SELECT run_id, fingerprint FROM left_out WHERE run_id = ? LIMIT 9999)

-- delete_left_out_counts: delete their counts
DELETE FROM left_out_count WHERE run_id = ?

-- delete_visits: delete visits of hosts
DELETE FROM visit WHERE run_id = ?

-- delete_sends: delete send times
DELETE FROM send WHERE run_id IN (?1, -CAST(?1 AS bigint))

-- delete_counts: delete the counts of steps
DELETE FROM step_count WHERE run_id = ?

-- delete_run: delete the run itself
DELETE FROM run WHERE id = ?
