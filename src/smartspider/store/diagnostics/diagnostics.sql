-- times: how long a run has been running
SELECT active_s, resumed_at, next_event - 1 FROM run WHERE id = ?

-- holders: workers with leases of a run
SELECT count(DISTINCT worker_id) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 1000)

-- serving: live workers
SELECT count(*) FROM worker WHERE seen_at >= ?

-- first_event: the oldest stored event of a run
SELECT min(number) FROM event WHERE run_id = ?

-- event_at: the time of an event
SELECT at FROM event WHERE run_id = ? AND number = ?

-- progress_before: the newest progress up to an event
SELECT at, data FROM event WHERE run_id = ?1 AND number <= ?2 AND number > ?2 - 500 AND name = 'run.progress'
ORDER BY number DESC LIMIT 1

-- progress_after: the oldest progress from an event on
SELECT at, data FROM event WHERE run_id = ?1 AND number >= ?2 AND number < ?2 + 500 AND name = 'run.progress'
ORDER BY number LIMIT 1

-- open_lanes: hosts with an open lane of a run
SELECT host_id, queued FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL LIMIT ?2

-- closed_lanes: hosts with a closed lane of a run
SELECT host_id, queued FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL LIMIT ?2

-- not_queued: open requests of a run by host that are not queued; empty where queues are counted
SELECT 0, 0 WHERE ?1 < 0 AND ?2 < 0

-- leased_hosts: hosts with leases of a run
SELECT host_id, count(*) FROM (SELECT host_id FROM lease WHERE run_id = ? LIMIT 1000) GROUP BY host_id

-- host: name and hold of a host
SELECT name, held_until, hold_reason FROM host WHERE id = ?

-- waiting: number of requests to retry later
SELECT count(*) FROM (SELECT 1 FROM later WHERE run_id = ?1 AND due_at > ?2 LIMIT 1000)

-- later_hosts: hosts of the requests that are retried first
SELECT DISTINCT u.host_id FROM (SELECT url_id FROM later WHERE run_id = ?1 AND due_at > ?2 ORDER BY due_at LIMIT 50)
JOIN url u ON u.id = url_id

-- failing: hosts of the requests that are retried first, and the reasons of the last failures
SELECT h.name, (SELECT a.reason FROM attempt a WHERE a.url_id = u.id ORDER BY a.id DESC LIMIT 1)
FROM (SELECT url_id FROM later WHERE run_id = ?1 AND due_at > ?2 ORDER BY due_at LIMIT 50)
JOIN url u ON u.id = url_id JOIN host h ON h.id = u.host_id

-- next_due: time of the first retry
SELECT min(due_at) FROM later WHERE run_id = ?1 AND due_at > ?2

-- leases: the oldest leases, among the first thousand
SELECT url_id, host_id, worker_id, deadline_at, token FROM (SELECT * FROM lease WHERE run_id = ? LIMIT 1000)
ORDER BY token LIMIT ?

-- lease: the lease of a request
SELECT url_id, host_id, worker_id, deadline_at, token FROM lease WHERE url_id = ?

-- shares: leases of a run by worker
SELECT worker_id, count(*) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 10000)
GROUP BY worker_id ORDER BY worker_id

-- worker: name and node of a worker
SELECT name, node FROM worker WHERE id = ?

-- url_of: the URL of a request
SELECT url FROM url WHERE id = ?

-- sent: when the request of a lease was sent, among the last of its host
SELECT at FROM (SELECT at, token FROM send WHERE host_id = ?1 ORDER BY at DESC LIMIT 1000) WHERE token = ?2

-- prints_of_url: fingerprints of requests for a URL that are not plain ones
SELECT DISTINCT fingerprint FROM url WHERE run_id = ?1 AND url = ?2 AND extras IS NOT NULL LIMIT ?3

-- details: columns of a request that its record lacks
SELECT fingerprint, visit, is_entry, host_id, extras FROM url WHERE id = ?

-- due: when a request is retried
SELECT due_at FROM later WHERE url_id = ?1 AND due_at > ?2

-- sends_before: requests sent to a host up to a moment, newest first
SELECT at, run_id, delay_s FROM send WHERE host_id = ?1 AND at <= ?2 ORDER BY at DESC LIMIT ?3

-- sends_after: requests sent to a host after a moment
SELECT at, run_id, delay_s FROM send WHERE host_id = ?1 AND at > ?2 ORDER BY at LIMIT ?3

-- last_item: the last item of a run
SELECT max(id) FROM item WHERE id > ?1 AND id < ?2

-- item_closed_at: when the page of the first item from an id on was stored
SELECT i.id, coalesce(u.closed_at, 0) FROM item i JOIN url u ON u.id = i.url_id WHERE i.id >= ?1 AND i.id < ?2
ORDER BY i.id LIMIT 1

-- items_from: items of a page among those from an id on
SELECT id, data FROM (SELECT id, data, url_id FROM item WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 5000) AS few
WHERE url_id = ?3 LIMIT ?4

-- last_reject: the last rejected item of a run
SELECT max(id) FROM reject WHERE id > ?1 AND id < ?2

-- reject_closed_at: when the page of the first rejected item from an id on was stored
SELECT r.id, coalesce(u.closed_at, 0) FROM reject r JOIN url u ON u.id = r.url_id WHERE r.id >= ?1 AND r.id < ?2
ORDER BY r.id LIMIT 1

-- rejects_from: rejected items of a page among those from an id on
SELECT id, reason, step, field, value, data
FROM (SELECT id, url_id, reason, step, field, value, data FROM reject WHERE id >= ?1 AND id < ?2
      ORDER BY id LIMIT 5000) AS few
WHERE url_id = ?3 LIMIT ?4

-- last_change: the last changed value of a run
SELECT max(id) FROM cleaning WHERE id > ?1 AND id < ?2

-- change_closed_at: when the page of the first changed value from an id on was stored
SELECT c.id, coalesce(u.closed_at, 0) FROM cleaning c JOIN url u ON u.id = c.url_id WHERE c.id >= ?1 AND c.id < ?2
ORDER BY c.id LIMIT 1

-- changes_from: changed values of a page among those from an id on
SELECT id, item, step, field, before, after, note
FROM (SELECT id, url_id, item, step, field, before, after, note FROM cleaning WHERE id >= ?1 AND id < ?2
      ORDER BY id LIMIT 20000) AS few
WHERE url_id = ?3 LIMIT ?4

-- last_url: the last request of a run
SELECT max(id) FROM url WHERE id > ?1 AND id < ?2

-- url_found_at: when the first request from an id on was found
SELECT id, found_at FROM url WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1

-- children: number of requests that a page led to, among those from an id on
SELECT count(*) FROM (SELECT parent_id FROM url WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 20000) AS few
WHERE parent_id = ?3

-- lane_queued: queued requests of a run for a host
SELECT queued FROM lane WHERE host_id = ? AND run_id = ?

-- has_visited: whether a run has fetched anything from a host
SELECT 1 FROM host h JOIN visit v ON v.host_id = h.id AND v.run_id = ?2 WHERE h.name = ?1
