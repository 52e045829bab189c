-- run: what settling needs to know of a run
SELECT id, state, next_url, next_item, failures_row, done, items, dead, broken, missing, max_pages, max_items,
       max_errors, max_host_urls, guard_row, guard_rate, guard_after, guard_pauses, adaptive, active_s, resumed_at, policies,
       CASE WHEN policies IS NOT NULL THEN task_id END, told_at
FROM run WHERE id = ?

-- row_state: whether a row is still open, how often it was opened again, and how often it failed
SELECT id, state, host_id, visit, attempts FROM url WHERE id = ?

-- close: a request is over
UPDATE url SET state = ?, reason = ?, status = ?, items = ?, target_id = ?, closed_at = ? WHERE id = ?

-- add_url: a request that nobody knew
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, parent_id, extras, found_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- known: whether there is a row of a request
SELECT fingerprint FROM url WHERE run_id = ?1 AND fingerprint = ?2

-- find_url: the row of a request
SELECT fingerprint, id, state, host_id FROM url WHERE run_id = ? AND fingerprint = ?

-- add_item: a record of a page
INSERT INTO item (id, url_id, data) VALUES (?, ?, ?)

-- find_key: which item is recognised by a key
SELECT scope, key, item_id FROM item_key WHERE scope = ? AND key = ?

-- put_key: from now on a key stands for this item
INSERT INTO item_key (scope, key, item_id) VALUES (?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE SET item_id = excluded.item_id

-- drop_keys: an item is recognised no more
DELETE FROM item_key WHERE item_id = ?

-- get_item: a stored item
SELECT id, url_id, data FROM item WHERE id = ?

-- set_item: a later duplicate changed an item
UPDATE item SET data = ? WHERE id = ?

-- drop_item: a later duplicate replaced an item
DELETE FROM item WHERE id = ?

-- gave_less: items of a page were replaced
UPDATE url SET items = items - ? WHERE id = ?

-- last_reject: the greatest id of a run's rejects
SELECT max(id) FROM reject WHERE id < ?

-- add_reject: an item that was not kept
INSERT INTO reject (id, url_id, reason, step, field, value, data) VALUES (?, ?, ?, ?, ?, ?, ?)

-- last_change: the greatest id of a run's cleaning log
SELECT max(id) FROM cleaning WHERE id < ?

-- add_change: what a step made of a value
INSERT INTO cleaning (id, url_id, item, step, field, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)

-- add_count: what a step did
INSERT INTO step_count (run_id, step, seen, changed, emptied, rejected) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, step) DO UPDATE SET seen = step_count.seen + excluded.seen,
    changed = step_count.changed + excluded.changed, emptied = step_count.emptied + excluded.emptied,
    rejected = step_count.rejected + excluded.rejected

-- share_task: what runs of a task compare with each other stands still
SELECT ?

-- late: settlements that added nothing
UPDATE run SET late = late + ? WHERE id = ?

-- count_failure: fetches failed
UPDATE url SET attempts = attempts + ? WHERE id = ?

-- add_attempt: keep what went wrong
INSERT INTO attempt (url_id, at, status, reason, elapsed_s) VALUES (?, ?, ?, ?, ?)

-- trim_attempts: only the last few are kept
DELETE FROM attempt WHERE url_id = ?1 AND id NOT IN (SELECT id FROM attempt WHERE url_id = ?1 ORDER BY id DESC LIMIT 8)

-- add_send: a request left; settling the same page again tells nothing new
INSERT INTO send (host_id, at, token, run_id, delay_s) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- add_visit: how a run treated a host
INSERT INTO visit (run_id, host_id, requests, refusals, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT (run_id, host_id) DO UPDATE SET requests = visit.requests + excluded.requests,
    refusals = visit.refusals + excluded.refusals, last_at = excluded.last_at

-- urls_of_host: how many requests a run knows for a host
SELECT count(*) FROM url WHERE run_id = ? AND host_id = ?

-- settle_run: keep the sums
UPDATE run SET next_url = ?, next_item = ?, failures_row = ?, total = total + ?, done = done + ?,
    redirect = redirect + ?, missing = missing + ?, skipped = skipped + ?, dead = dead + ?, broken = broken + ?,
    items = items + ?, rejected = rejected + ?, duplicates = duplicates + ?, updated = updated + ?,
    duplicate_urls = duplicate_urls + ?, retries = retries + ?, late = late + ?, bytes_read = bytes_read + ?, untold = 1
WHERE id = ?

-- set_run_state: a limit was reached or a guard tripped
UPDATE run SET state = ?, reason = ?, active_s = ?, resumed_at = ? WHERE id = ?

-- host_down: what a host that stays down leaves undone
SELECT id FROM url WHERE run_id = ? AND state = 'open' AND host_id = ?
