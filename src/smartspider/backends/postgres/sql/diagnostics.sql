-- serving: live workers
SELECT count(*) FROM worker WHERE seen_at >= ? AND gone_at IS NULL

-- open_lanes: hosts of a run with their open requests, up to a limit
SELECT host_id, queued FROM (
    SELECT host_id, (SELECT count(*) FROM (SELECT 1 FROM url WHERE run_id = ?1 AND host_id = lane.host_id
                                           AND state = 'open' LIMIT 10000) AS few) AS queued
    FROM (SELECT host_id FROM lane WHERE run_id = ?1 LIMIT ?2) AS lane) AS counted
WHERE queued > 0

-- closed_lanes: none; only the frontier knows which gates are closed
SELECT host_id, 0 FROM lane WHERE run_id = ?1 AND false LIMIT ?2

-- not_queued: open requests of a run by host that are in flight or retried later
SELECT host_id, count(*) FROM (
    SELECT lease.host_id FROM lease JOIN url ON url.id = lease.url_id
    WHERE lease.run_id = ?1 AND coalesce(url.state, '') = 'open'
    UNION ALL
    (SELECT host_id FROM url WHERE run_id = ?1 AND state = 'open' AND due_at > ?2 LIMIT 10000)) AS elsewhere
GROUP BY host_id

-- waiting: number of requests to retry later
SELECT count(*) FROM (SELECT 1 FROM url WHERE run_id = ?1 AND state = 'open' AND due_at > ?2 LIMIT 1000) AS later

-- later_hosts: hosts of the requests that are retried first
SELECT DISTINCT host_id FROM (
    SELECT host_id FROM url WHERE run_id = ?1 AND state = 'open' AND due_at > ?2 ORDER BY due_at LIMIT 50) AS later

-- failing: hosts of the requests that are retried first, and the reasons of the last failures
SELECT h.name, (SELECT a.reason FROM attempt a WHERE a.url_id = u.id ORDER BY a.id DESC LIMIT 1)
FROM (SELECT id, host_id FROM url WHERE run_id = ?1 AND state = 'open' AND due_at > ?2 ORDER BY due_at LIMIT 50) AS u
JOIN host h ON h.id = u.host_id

-- next_due: time of the first retry
SELECT due_at FROM url WHERE run_id = ?1 AND state = 'open' AND due_at > ?2 ORDER BY due_at LIMIT 1

-- due: when a request is retried
SELECT due_at FROM url WHERE id = ?1 AND state = 'open' AND due_at > ?2

-- lane_queued: open requests of a run for a host
SELECT count(*) FROM (SELECT 1 FROM url WHERE host_id = ?1 AND run_id = ?2 AND state = 'open' LIMIT 10000) AS few

-- holders: workers with leases of a run
SELECT count(DISTINCT worker_id) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 1000) AS held

-- leased_hosts: hosts with leases of a run
SELECT host_id, count(*) FROM (SELECT host_id FROM lease WHERE run_id = ? LIMIT 1000) AS held GROUP BY host_id

-- leases: the oldest leases, among the first thousand
SELECT url_id, host_id, worker_id, deadline_at, token FROM (SELECT * FROM lease WHERE run_id = ? LIMIT 1000) AS held
ORDER BY token LIMIT ?

-- shares: leases of a run by worker
SELECT worker_id, count(*) FROM (SELECT worker_id FROM lease WHERE run_id = ? LIMIT 10000) AS held
GROUP BY worker_id ORDER BY worker_id

-- sent: when the request of a lease was sent, among the last of its host
SELECT at FROM (SELECT at, token FROM send WHERE host_id = ?1 ORDER BY at DESC LIMIT 1000) AS last WHERE token = ?2
