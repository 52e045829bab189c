-- count: number of counters
SELECT count(*) FROM metric

-- is_known: whether a counter exists
SELECT name, labels FROM metric WHERE name = ? AND labels = ?

-- add: add to a counter
INSERT INTO metric (name, labels, value) VALUES (?, ?, ?)
ON CONFLICT (name, labels) DO UPDATE SET value = metric.value + excluded.value

-- sums: all counters
SELECT name, labels, value FROM metric

-- live_runs: live runs with their open requests
SELECT state, count(*), sum(total - done - redirect - missing - skipped - dead - broken)
FROM (SELECT state, total, done, redirect, missing, skipped, dead, broken FROM run INDEXED BY run_live
      WHERE state IN ('queued', 'running', 'stopping') LIMIT ?)
GROUP BY state

-- leases: number of leases
SELECT count(*) FROM lease

-- held: number of held hosts
SELECT count(*) FROM (SELECT 1 FROM host INDEXED BY host_held WHERE held_until > 0 AND held_until > ? LIMIT ?)

-- workers: number of workers and their slots
SELECT count(*), coalesce(sum(slots), 0) FROM worker

-- desired: the desired number of workers; the argument if there is no decision yet
SELECT CASE WHEN desired < 0 THEN ? ELSE desired END FROM scaling

-- log_bytes: size of the log
SELECT bytes FROM log_size

-- store_bytes: size of the store
SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()
