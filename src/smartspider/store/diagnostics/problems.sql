-- causes: the causes of a run, each found by one look at the index
WITH RECURSIVE found (cause) AS (
    SELECT (SELECT min(cause) FROM url WHERE run_id = ?1 AND cause IS NOT NULL)
    UNION ALL
    SELECT (SELECT min(cause) FROM url WHERE run_id = ?1 AND cause IS NOT NULL AND cause > found.cause) FROM found
    WHERE found.cause IS NOT NULL)
SELECT cause FROM found WHERE cause IS NOT NULL

-- by_host: requests with a cause, by state and host, among a bounded number
SELECT state, host_id, count(*), min(closed_at), max(closed_at), min(id)
FROM (SELECT id, state, host_id, closed_at FROM url
      WHERE run_id = ?1 AND cause = ?2 AND cause IS NOT NULL ORDER BY id LIMIT ?3) AS scanned
GROUP BY state, host_id ORDER BY count(*) DESC, host_id LIMIT ?4

-- empty_pages: stored pages without items in the middle of a list, by host, among a bounded number
SELECT state, host_id, count(*), min(closed_at), max(closed_at), min(id)
FROM (SELECT id, state, host_id, closed_at, page, run_id FROM url
      WHERE run_id = ?1 AND cause = 'no_items' AND cause IS NOT NULL ORDER BY id LIMIT ?2) AS scanned
WHERE state = 'done' AND EXISTS (
    SELECT 1 FROM url n WHERE n.run_id = scanned.run_id AND n.is_next_page = 1 AND n.page = scanned.page
    AND n.id > scanned.id AND n.items > 0)
GROUP BY state, host_id ORDER BY count(*) DESC, host_id LIMIT ?3

-- rejects: rejected items by step, field and host; a run keeps a bounded number
SELECT r.step, r.field, u.host_id, count(*), min(u.closed_at), max(u.closed_at), min(r.id)
FROM reject r JOIN url u ON u.id = r.url_id WHERE r.id >= ?1 AND r.id < ?2
GROUP BY r.step, r.field, u.host_id ORDER BY count(*) DESC, r.step, r.field, u.host_id LIMIT ?3

-- request: an example
SELECT u.id, u.url, coalesce(u.reason, ''), (SELECT name FROM host WHERE id = u.host_id) FROM url u WHERE u.id = ?

-- reject: an example of rejected items
SELECT u.id, u.url, r.reason, (SELECT name FROM host WHERE id = u.host_id)
FROM reject r JOIN url u ON u.id = r.url_id WHERE r.id = ?

-- rejected: number of rejected items
SELECT rejected FROM run WHERE id = ?
