-- run: the columns of a run that settling reads
SELECT id, state, next_url, next_item, failures_row, done, items, dead, broken, missing, max_pages, max_items,
       max_errors, max_host_urls, guard_row, guard_rate, guard_after, guard_pauses, adaptive, active_s, resumed_at, policies,
       CASE WHEN policies IS NOT NULL THEN task_id END, told_at, left_out, fields, files,
       cookie_version
FROM run WHERE id = ?

-- row_state: state, host, visits and failures of a row, why it is skipped, and the page that led to it
SELECT id, state, host_id, visit, attempts, is_next_page, cause, parent_id FROM url WHERE id = ?

-- close: close a request
UPDATE url SET state = ?, reason = ?, cause = ?, status = ?, items = ?, target_id = ?, closed_at = ?,
    proxy_id = ?, cookies_id = ?
WHERE id = ?

-- add_url: add a request
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, is_next_page, parent_id,
    extras, found_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- known: whether a request has a row
SELECT fingerprint FROM url WHERE run_id = ?1 AND fingerprint = ?2

-- find_url: the row of a request
SELECT fingerprint, id, state, host_id, is_next_page, cause, page FROM url WHERE run_id = ? AND fingerprint = ?

-- redirected_to: other requests that were redirected to a page which a redirect was the first to lead to
SELECT o.url FROM url o WHERE o.target_id = ?1
  AND EXISTS (SELECT 1 FROM url t JOIN url f ON f.id = t.parent_id WHERE t.id = ?1 AND f.target_id = ?1) LIMIT 50

-- add_item: add an item
INSERT INTO item (id, url_id, data, checksum) VALUES (?, ?, ?, ?)

-- find_key: the item of a key
SELECT scope, key, item_id FROM item_key WHERE scope = ? AND key = ?

-- put_key: set the item of a key
INSERT INTO item_key (scope, key, item_id) VALUES (?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE SET item_id = excluded.item_id

-- drop_keys: delete the keys of an item
DELETE FROM item_key WHERE item_id = ?

-- get_item: an item
SELECT id, url_id, data FROM item WHERE id = ?

-- set_item: change an item by a later duplicate
UPDATE item SET data = ?, checksum = ? WHERE id = ?

-- drop_item: delete an item that a later duplicate replaces
DELETE FROM item WHERE id = ?

-- gave_less: count replaced items out of their pages
UPDATE url SET items = items - ? WHERE id = ?

-- last_reject: the last reject of a run
SELECT max(id) FROM reject WHERE id < ?

-- add_reject: add a rejected item
INSERT INTO reject (id, url_id, reason, step, field, value, data) VALUES (?, ?, ?, ?, ?, ?, ?)

-- last_change: the last changed value of a run
SELECT max(id) FROM cleaning WHERE id < ?

-- add_change: add a changed value
INSERT INTO cleaning (id, url_id, item, step, field, before, after, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- add_count: add to the counts of a step
INSERT INTO step_count (run_id, step, seen, changed, emptied, rejected, unsure) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, step) DO UPDATE SET seen = step_count.seen + excluded.seen,
    changed = step_count.changed + excluded.changed, emptied = step_count.emptied + excluded.emptied,
    rejected = step_count.rejected + excluded.rejected, unsure = step_count.unsure + excluded.unsure

-- share_task: lock what the runs of a task compare
SELECT ?

-- late: count settlements that added nothing
UPDATE run SET late = late + ? WHERE id = ?

-- count_failure: count failed attempts
UPDATE url SET attempts = attempts + ? WHERE id = ?

-- add_attempt: store a failed attempt
INSERT INTO attempt (url_id, at, status, reason, cause, elapsed_s, delay_s, proxy_id, cookies_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- trim_attempts: keep only the last few
DELETE FROM attempt WHERE url_id = ?1 AND id NOT IN (SELECT id FROM attempt WHERE url_id = ?1 ORDER BY id DESC LIMIT 8)

-- add_send: store a send; settling the same page again changes nothing
INSERT INTO send (host_id, at, token, run_id, delay_s) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- add_visit: add to the requests of a run to a host
INSERT INTO visit (run_id, host_id, requests, refusals, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT (run_id, host_id) DO UPDATE SET requests = visit.requests + excluded.requests,
    refusals = visit.refusals + excluded.refusals, last_at = excluded.last_at

-- urls_of_host: number of requests of a run for a host
SELECT count(*) FROM url WHERE run_id = ? AND host_id = ?

-- settle_run: add to the counters of a run
UPDATE run SET next_url = ?, next_item = ?, failures_row = ?, total = total + ?, done = done + ?,
    redirect = redirect + ?, missing = missing + ?, skipped = skipped + ?, dead = dead + ?, broken = broken + ?,
    items = items + ?, rejected = rejected + ?, duplicates = duplicates + ?, updated = updated + ?,
    duplicate_urls = duplicate_urls + ?, retries = retries + ?, late = late + ?, bytes_read = bytes_read + ?,
    left_out = left_out + ?, fields = ?, files = files + ?, untold = 1
WHERE id = ?

-- set_run_state: stop or pause a run
UPDATE run SET state = ?, reason = ?, active_s = ?, resumed_at = ? WHERE id = ?

-- host_down: open requests of a host that is abandoned
SELECT id, is_next_page FROM url WHERE run_id = ? AND state = 'open' AND host_id = ?

-- suspect: lease a request alone from now on
UPDATE url SET returns = ? WHERE id = ? AND returns < ?
