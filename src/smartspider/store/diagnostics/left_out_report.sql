-- counts: what a run left out, by reason
SELECT code, is_next_page, links, requests, is_cut FROM left_out_count WHERE run_id = ?

-- links: some links that were left out for a reason, of the first page first
SELECT l.url, l.detail, (SELECT url FROM url p WHERE p.id = l.parent_id) FROM left_out l
WHERE l.run_id = ? AND l.code = ? AND l.is_next_page = ? ORDER BY l.parent_id LIMIT ?

-- requests: some requests that were skipped for a reason
SELECT u.url, coalesce(u.reason, ''), (SELECT url FROM url p WHERE p.id = u.parent_id) FROM url u
WHERE u.run_id = ? AND u.cause = ? AND u.is_next_page = ? AND u.state = 'skipped' LIMIT ?

-- by_print: a link that was left out
SELECT l.code, l.is_next_page, l.url, l.detail, (SELECT url FROM url p WHERE p.id = l.parent_id) FROM left_out l
WHERE l.run_id = ? AND l.fingerprint = ?

-- by_url: a link that was left out and is no plain request
SELECT l.code, l.is_next_page, l.url, l.detail, (SELECT url FROM url p WHERE p.id = l.parent_id) FROM left_out l
WHERE l.run_id = ? AND l.url = ? LIMIT 1

-- missing_entries: entries that do not exist, in task order
SELECT url FROM url WHERE run_id = ? AND state = 'missing' AND is_entry = 1 AND page NOT LIKE '@%' ORDER BY id LIMIT ?

-- count_missing_entries: their number
SELECT count(*) FROM url WHERE run_id = ? AND state = 'missing' AND is_entry = 1 AND page NOT LIKE '@%'

-- lost_next_pages: next pages that failed or do not exist
SELECT id, url, state, coalesce(reason, ''), cause FROM url
WHERE run_id = ? AND state IN ('dead', 'broken', 'missing') AND is_next_page = 1
  AND (cause IS NULL OR cause NOT IN ('signed_out', 'known_page', 'no_items')) ORDER BY id LIMIT ?

-- count_lost_next_pages: their number
SELECT count(*) FROM url WHERE run_id = ? AND state IN ('dead', 'broken', 'missing') AND is_next_page = 1
  AND (cause IS NULL OR cause NOT IN ('signed_out', 'known_page', 'no_items'))

-- lost: requests that did not bring what they were followed for; pages at the end of a list may have no items
SELECT l.id, l.url, l.state, coalesce(l.reason, ''), l.cause FROM url l
WHERE l.run_id = ? AND l.cause IN ('signed_out', 'known_page', 'no_items') AND (l.state = 'dead' OR EXISTS (
    SELECT 1 FROM url n WHERE n.run_id = l.run_id AND n.is_next_page = 1 AND n.page = l.page AND n.id > l.id
    AND n.items > 0)) ORDER BY l.id LIMIT ?

-- count_lost: their number
SELECT count(*) FROM url l
WHERE l.run_id = ? AND l.cause IN ('signed_out', 'known_page', 'no_items') AND (l.state = 'dead' OR EXISTS (
    SELECT 1 FROM url n WHERE n.run_id = l.run_id AND n.is_next_page = 1 AND n.page = l.page AND n.id > l.id
    AND n.items > 0))

-- missing_files: files that do not exist
SELECT url FROM url WHERE run_id = ? AND state = 'missing' AND page LIKE '@file:%' ORDER BY id LIMIT ?

-- count_missing_files: their number
SELECT count(*) FROM url WHERE run_id = ? AND state = 'missing' AND page LIKE '@file:%'

-- url: the URL of a request
SELECT url FROM url WHERE id = ?

-- fields: the fields of the items of a run, and its state
SELECT fields, state FROM run WHERE id = ?
