-- run__write: the columns of a run that settling reads, locked
SELECT id, state, next_url, next_item, failures_row, done, items, dead, broken, missing, max_pages, max_items,
       max_errors, max_host_urls, guard_row, guard_rate, guard_after, guard_pauses, adaptive, active_s, resumed_at, policies,
       CASE WHEN policies IS NOT NULL THEN task_id END, told_at, left_out, fields, files,
       cookie_version
FROM run WHERE id = ? FOR NO KEY UPDATE

-- row_state__many: state, host, visits, failures and parent of a row, for many
SELECT id, state, host_id, visit, attempts, is_next_page, cause, parent_id FROM url WHERE id = ANY (?::bigint[])

-- close__many: close a request, for many
UPDATE url SET state = closed.state, reason = closed.reason, cause = closed.cause, status = closed.status,
    items = closed.items, target_id = closed.target_id, closed_at = closed.at,
    proxy_id = closed.proxy_id, cookies_id = closed.cookies_id
FROM unnest(?::text[], ?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::float8[], ?::bigint[], ?::bigint[],
    ?::bigint[]) AS closed (state, reason, cause, status, items, target_id, at, proxy_id, cookies_id, id)
WHERE url.id = closed.id

-- add_url__many: add a request, for many
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, is_next_page, parent_id,
    extras, found_at)
SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bytea[], ?::bigint[], ?::text[], ?::text[], ?::bigint[], ?::bigint[],
                     ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::float8[]) ORDER BY 3

-- known__many: whether a request has a row, for many
SELECT fingerprint FROM url WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])

-- find_url__many: the row of a request, for many
SELECT fingerprint, id, state, host_id, is_next_page, cause, page FROM url WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])

-- add_item__many: add an item, for many
INSERT INTO item (id, url_id, data, checksum) SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bigint[])

-- find_key__many: the item of a key, for many
SELECT k.scope, k.key, k.item_id FROM unnest(?::bigint[], ?::bytea[]) AS asked (scope, key)
JOIN item_key k ON k.scope = asked.scope AND k.key = asked.key

-- put_key__many: set the item of a key, for many
INSERT INTO item_key (scope, key, item_id) SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::bigint[]) ORDER BY 1, 2
ON CONFLICT (scope, key) DO UPDATE SET item_id = excluded.item_id

-- drop_keys__many: delete the keys of an item, for many
DELETE FROM item_key WHERE item_id = ANY (?::bigint[])

-- get_item__many: items, locked
SELECT id, url_id, data FROM item WHERE id = ANY (?::bigint[])

-- set_item__many: change an item by a later duplicate, for many
UPDATE item SET data = changed.data, checksum = changed.checksum
FROM unnest(?::text[], ?::bigint[], ?::bigint[]) AS changed (data, checksum, id) WHERE item.id = changed.id

-- drop_item__many: delete an item that a later duplicate replaces, for many
DELETE FROM item WHERE id = ANY (?::bigint[])

-- gave_less__many: count replaced items out of their pages, for many
UPDATE url SET items = url.items - less.items FROM unnest(?::bigint[], ?::bigint[]) AS less (items, id)
WHERE url.id = less.id

-- add_reject__many: add a rejected item, for many
INSERT INTO reject (id, url_id, reason, step, field, value, data)
SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[])

-- add_change__many: add a changed value, for many
INSERT INTO cleaning (id, url_id, item, step, field, before, after, note)
SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[])

-- add_count__many: add to the counts of a step, for many
INSERT INTO step_count (run_id, step, seen, changed, emptied, rejected, unsure)
SELECT * FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])
ON CONFLICT (run_id, step) DO UPDATE SET seen = step_count.seen + excluded.seen,
    changed = step_count.changed + excluded.changed, emptied = step_count.emptied + excluded.emptied,
    rejected = step_count.rejected + excluded.rejected, unsure = step_count.unsure + excluded.unsure

-- share_task: lock what the runs of a task compare
SELECT pg_advisory_xact_lock(7305, (?::bigint % 2147483647)::int)

-- count_failure__many: count failed attempts, for many
UPDATE url SET attempts = url.attempts + failed.times FROM unnest(?::bigint[], ?::bigint[]) AS failed (times, id)
WHERE url.id = failed.id

-- add_attempt__many: store a failed attempt, for many
INSERT INTO attempt (url_id, at, status, reason, cause, elapsed_s, delay_s, proxy_id, cookies_id)
SELECT * FROM unnest(?::bigint[], ?::float8[], ?::bigint[], ?::text[], ?::text[], ?::float8[], ?::float8[], ?::bigint[],
    ?::bigint[])

-- trim_attempts__many: keep only the last few, for many
DELETE FROM attempt USING (
    SELECT id, row_number() OVER (PARTITION BY url_id ORDER BY id DESC) AS place FROM attempt
    WHERE url_id = ANY (?::bigint[])) AS kept
WHERE attempt.id = kept.id AND kept.place > 8

-- add_send__many: store a send; settling the same page again changes nothing, for many
INSERT INTO send (host_id, at, token, run_id, delay_s)
SELECT * FROM unnest(?::bigint[], ?::float8[], ?::bigint[], ?::bigint[], ?::float8[]) ON CONFLICT DO NOTHING

-- add_visit__many: add to the requests of a run to a host, for many
INSERT INTO visit (run_id, host_id, requests, refusals, first_at, last_at)
SELECT run_id, host_id, requests, refusals, at, at
FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::float8[]) AS told (run_id, host_id, requests, refusals, at)
ON CONFLICT (run_id, host_id) DO UPDATE SET requests = visit.requests + excluded.requests,
    refusals = visit.refusals + excluded.refusals, last_at = excluded.last_at
