-- count: how many sums there are
SELECT count(*) FROM metric

-- is_known: whether there is a sum
SELECT name, labels FROM metric WHERE name = ? AND labels = ?

-- add: add to a sum
INSERT INTO metric (name, labels, value) VALUES (?, ?, ?)
ON CONFLICT (name, labels) DO UPDATE SET value = metric.value + excluded.value

-- sums: all of them
SELECT name, labels, value FROM metric

-- live_runs: runs that are worked on or wait to be, with what is open in them
SELECT state, count(*), sum(total - done - redirect - missing - skipped - dead - broken)
FROM (SELECT state, total, done, redirect, missing, skipped, dead, broken FROM run INDEXED BY run_live
      WHERE state IN ('queued', 'running', 'stopping') LIMIT ?)
GROUP BY state

-- leases: requests in the hands of workers
SELECT count(*) FROM lease

-- held: hosts that are left alone for a while
SELECT count(*) FROM (SELECT 1 FROM host INDEXED BY host_held WHERE held_until > 0 AND held_until > ? LIMIT ?)

-- workers: those that have joined and not left, and their slots
SELECT count(*), coalesce(sum(slots), 0) FROM worker

-- desired: workers that are wanted; so many where nobody has said yet
SELECT CASE WHEN desired < 0 THEN ? ELSE desired END FROM scaling

-- log_bytes: what log lines take
SELECT bytes FROM log_size

-- store_bytes: what the store takes
SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()
