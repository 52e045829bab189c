-- times: how long a run has worked
SELECT active_s, resumed_at, next_event - 1 FROM run WHERE id = ?

-- holders: workers that have something of a run in their hands
SELECT count(DISTINCT worker_id) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 1000)

-- serving: workers that are there
SELECT count(*) FROM worker WHERE seen_at >= ?

-- first_event: the oldest event of a run that is kept
SELECT min(number) FROM event WHERE run_id = ?

-- event_at: when an event happened
SELECT at FROM event WHERE run_id = ? AND number = ?

-- progress_before: the newest progress up to an event
SELECT at, data FROM event WHERE run_id = ?1 AND number <= ?2 AND number > ?2 - 500 AND name = 'run.progress'
ORDER BY number DESC LIMIT 1

-- progress_after: the oldest progress from an event on
SELECT at, data FROM event WHERE run_id = ?1 AND number >= ?2 AND number < ?2 + 500 AND name = 'run.progress'
ORDER BY number LIMIT 1

-- open_lanes: hosts that a run may ask for work, as far as known
SELECT host_id, queued FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL LIMIT ?2

-- closed_lanes: hosts that a run waits for
SELECT host_id, queued FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL LIMIT ?2

-- not_queued: what of a run's open requests for hosts is not queued; nothing where queues are counted
SELECT 0, 0 WHERE ?1 < 0 AND ?2 < 0

-- leased_hosts: hosts at which a run has something in flight
SELECT host_id, count(*) FROM (SELECT host_id FROM lease WHERE run_id = ? LIMIT 1000) GROUP BY host_id

-- host: name and hold of a host
SELECT name, held_until, hold_reason FROM host WHERE id = ?

-- waiting: requests that come back later
SELECT count(*) FROM (SELECT 1 FROM later WHERE run_id = ?1 AND due_at > ?2 LIMIT 1000)

-- later_hosts: hosts of those that come back first
SELECT DISTINCT u.host_id FROM (SELECT url_id FROM later WHERE run_id = ?1 AND due_at > ?2 ORDER BY due_at LIMIT 50)
JOIN url u ON u.id = url_id

-- failing: where those that come back first go to, and what went wrong the last time
SELECT h.name, (SELECT a.reason FROM attempt a WHERE a.url_id = u.id ORDER BY a.id DESC LIMIT 1)
FROM (SELECT url_id FROM later WHERE run_id = ?1 AND due_at > ?2 ORDER BY due_at LIMIT 50)
JOIN url u ON u.id = url_id JOIN host h ON h.id = u.host_id

-- next_due: when the first of them does
SELECT min(due_at) FROM later WHERE run_id = ?1 AND due_at > ?2

-- leases: what was handed out first, among the first thousand
SELECT url_id, host_id, worker_id, deadline_at, token FROM (SELECT * FROM lease WHERE run_id = ? LIMIT 1000)
ORDER BY token LIMIT ?

-- lease: whether a request is handed out
SELECT url_id, host_id, worker_id, deadline_at, token FROM lease WHERE url_id = ?

-- shares: how much each worker holds of a run
SELECT worker_id, count(*) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 10000)
GROUP BY worker_id ORDER BY worker_id

-- worker: who it is
SELECT name, node FROM worker WHERE id = ?

-- url_of: the URL of a request
SELECT url FROM url WHERE id = ?

-- sent: when a lease's request left, among the last of its host
SELECT at FROM (SELECT at, token FROM send WHERE host_id = ?1 ORDER BY at DESC LIMIT 1000) WHERE token = ?2

-- prints_of_url: requests for a URL that are not plain ones
SELECT DISTINCT fingerprint FROM url WHERE run_id = ?1 AND url = ?2 AND extras IS NOT NULL LIMIT ?3

-- details: what a record does not tell
SELECT fingerprint, visit, is_entry, host_id, extras FROM url WHERE id = ?

-- due: when a request comes back
SELECT due_at FROM later WHERE url_id = ?1 AND due_at > ?2

-- sends_before: what left for a host up to a moment, newest first
SELECT at, run_id, delay_s FROM send WHERE host_id = ?1 AND at <= ?2 ORDER BY at DESC LIMIT ?3

-- sends_after: what left for a host after a moment
SELECT at, run_id, delay_s FROM send WHERE host_id = ?1 AND at > ?2 ORDER BY at LIMIT ?3

-- last_item: where the items of a run end
SELECT max(id) FROM item WHERE id > ?1 AND id < ?2

-- item_closed_at: when the page of the first item from an id on was stored
SELECT i.id, coalesce(u.closed_at, 0) FROM item i JOIN url u ON u.id = i.url_id WHERE i.id >= ?1 AND i.id < ?2
ORDER BY i.id LIMIT 1

-- items_from: items of a page among those from an id on
SELECT id, data FROM (SELECT id, data, url_id FROM item WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 5000)
WHERE url_id = ?3 LIMIT ?4

-- lane_queued: what a run has queued for a host
SELECT queued FROM lane WHERE host_id = ? AND run_id = ?

-- has_visited: whether a run has fetched something from a host
SELECT 1 FROM host h JOIN visit v ON v.host_id = h.id AND v.run_id = ?2 WHERE h.name = ?1
