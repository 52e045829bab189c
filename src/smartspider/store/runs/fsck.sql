-- sums: counters of runs
SELECT id, total, items, done, redirect, missing, skipped, dead, broken, left_out, files FROM run

-- counted: counters of a run computed from its rows
SELECT count(*), (SELECT count(*) FROM item WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40),
       count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'redirect'),
       count(*) FILTER (WHERE state = 'missing'), count(*) FILTER (WHERE state = 'skipped'),
       count(*) FILTER (WHERE state = 'dead'), count(*) FILTER (WHERE state = 'broken'),
       (SELECT count(*) FROM left_out WHERE run_id = ?1),
       count(*) FILTER (WHERE state = 'done' AND page LIKE '@file:%')
FROM url WHERE run_id = ?1

-- set_sums: set the counters of a run
UPDATE run SET total = ?, items = ?, done = ?, redirect = ?, missing = ?, skipped = ?, dead = ?, broken = ?,
    left_out = ?, files = ?
WHERE id = ?

-- items_after: items in the order of their ids, their data as bytes
SELECT id, url_id, CAST(data AS BLOB), checksum FROM item WHERE id > ? ORDER BY id LIMIT 200

-- stray_items: items without a page that is done
SELECT i.id FROM item i LEFT JOIN url u ON u.id = i.url_id WHERE u.state IS NULL OR u.state <> 'done'

-- drop_item_keys: delete the keys of such an item
DELETE FROM item_key WHERE item_id = ?

-- drop_item: delete such an item
DELETE FROM item WHERE id = ?

-- count_items: count the items of all runs again
UPDATE run SET items = (SELECT count(*) FROM item WHERE item.id >= run.id << 40 AND item.id < (run.id + 1) << 40)

-- stray_keys: keys without an item of their run or task
SELECT scope, key FROM item_key k LEFT JOIN item i ON i.id = k.item_id LEFT JOIN run r ON r.id = k.item_id >> 40
WHERE i.id IS NULL OR r.id IS NULL OR (k.scope <> r.id AND k.scope <> -r.task_id)

-- drop_key: delete such a key
DELETE FROM item_key WHERE scope = ? AND key = ?

-- stray_left_out: left-out links of deleted runs, and those that are requests
SELECT l.run_id, l.fingerprint FROM left_out l LEFT JOIN run ON run.id = l.run_id
WHERE run.id IS NULL OR EXISTS (SELECT 1 FROM url u WHERE u.run_id = l.run_id AND u.fingerprint = l.fingerprint)

-- drop_left_out: delete such a link
DELETE FROM left_out WHERE run_id = ? AND fingerprint = ?

-- left_out_counts: what runs left out, as counted
SELECT run_id, code, is_next_page, links, requests, is_cut FROM left_out_count

-- left_out_links: left-out links by reason
SELECT run_id, code, is_next_page, count(*) FROM left_out GROUP BY run_id, code, is_next_page

-- skipped_requests: skipped requests by reason
SELECT run_id, coalesce(cause, 'other'), is_next_page, count(*) FROM url WHERE state = 'skipped'
GROUP BY run_id, coalesce(cause, 'other'), is_next_page

-- set_left_out_count: set the counts of a reason
INSERT INTO left_out_count (run_id, code, is_next_page, links, requests, is_cut) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, code, is_next_page) DO UPDATE SET links = excluded.links, requests = excluded.requests,
    is_cut = excluded.is_cut

-- few_rejects: runs that count fewer rejects than are stored
SELECT run.id, rejected, kept FROM run
JOIN (SELECT id >> 40 AS run_id, count(*) AS kept FROM reject GROUP BY 1) AS rejects ON run.id = run_id
WHERE rejected < kept

-- set_rejected: set the rejects of a run
UPDATE run SET rejected = ? WHERE id = ?

-- over_but_open: ended runs with open rows
SELECT run.id, run.state FROM run WHERE run.state IN ('completed', 'failed', 'cancelled')
AND EXISTS (SELECT 1 FROM url WHERE url.run_id = run.id AND url.state = 'open')

-- pause: make such a run resumable
UPDATE run SET state = 'paused', reason = ?, finished_at = NULL WHERE id = ?

-- open_rows: open rows of a run
SELECT id, host_id, -priority FROM url WHERE run_id = ? AND state = 'open'

-- last_moment: the end of a run
SELECT coalesce(finished_at, created_at) FROM run WHERE id = ?

-- numbers: the next numbers of runs, and what they must be at least
SELECT id, next_url, next_item,
       1 + coalesce((SELECT max(url.id) - (run.id << 40) FROM url
                     WHERE url.id >= run.id << 40 AND url.id < (run.id + 1) << 40), 0),
       1 + coalesce((SELECT max(item.id) - (run.id << 40) FROM item
                     WHERE item.id >= run.id << 40 AND item.id < (run.id + 1) << 40), 0)
FROM run

-- set_numbers: set the next numbers of a run
UPDATE run SET next_url = ?, next_item = ? WHERE id = ?

-- event_gaps: runs with a gap in their event numbers
SELECT run.id, next_event, last FROM run JOIN
    (SELECT run_id, count(*) AS kept, min(number) AS first, max(number) AS last FROM event GROUP BY 1) AS told
    ON run_id = run.id
WHERE last <> next_event - 1 OR kept <> last - first + 1

-- stray_events: deleted runs with events
SELECT DISTINCT run_id FROM event WHERE run_id NOT IN (SELECT id FROM run)

-- drop_events: delete their events
DELETE FROM event WHERE run_id = ?

-- set_next_event: set the number of the next event of a run
UPDATE run SET next_event = ? WHERE id = ?

-- event_numbers: event numbers of a run, newest first
SELECT number FROM event WHERE run_id = ? ORDER BY number DESC

-- drop_events_before: delete the events of a run before a gap
DELETE FROM event WHERE run_id = ? AND number < ?

-- all_tuning: changed settings of runs
SELECT id, tuning FROM run WHERE tuning IS NOT NULL

-- all_knobs: original settings of runs
SELECT id, knobs FROM run WHERE knobs IS NOT NULL

-- clear_tuning: remove changed settings that cannot be decoded
UPDATE run SET tuning = NULL WHERE id = ?

-- clear_knobs: remove original settings that cannot be decoded
UPDATE run SET knobs = NULL WHERE id = ?
