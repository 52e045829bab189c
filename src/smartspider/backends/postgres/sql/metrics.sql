-- is_known__many: which sums there are
SELECT metric.name, metric.labels FROM metric
JOIN unnest(?::text[], ?::text[]) AS asked (name, labels) USING (name, labels)

-- add__many: add to sums, in the order they are given
INSERT INTO metric (name, labels, value)
SELECT name, labels, value
FROM unnest(?::text[], ?::text[], ?::double precision[]) WITH ORDINALITY AS added (name, labels, value, place)
ORDER BY place
ON CONFLICT (name, labels) DO UPDATE SET value = metric.value + excluded.value

-- live_runs: runs that are worked on or wait to be, with what is open in them
SELECT state, count(*), sum(total - done - redirect - missing - skipped - dead - broken)::bigint
FROM (SELECT state, total, done, redirect, missing, skipped, dead, broken FROM run
      WHERE state IN ('queued', 'running', 'stopping') LIMIT ?) AS live
GROUP BY state

-- held: hosts that are left alone for a while
SELECT count(*) FROM (SELECT 1 FROM host WHERE held_until > 0 AND held_until > ? LIMIT ?) AS held

-- store_bytes: what the store takes
SELECT pg_database_size(current_database())

-- workers: those that have joined and not left, and their slots
SELECT count(*), coalesce(sum(slots), 0)::bigint FROM worker WHERE gone_at IS NULL
