-- is_known__many: whether a counter exists, for many
SELECT metric.name, metric.labels FROM metric
JOIN unnest(?::text[], ?::text[]) AS asked (name, labels) USING (name, labels)

-- add__many: add to a counter, for many
INSERT INTO metric (name, labels, value)
SELECT name, labels, value
FROM unnest(?::text[], ?::text[], ?::double precision[]) WITH ORDINALITY AS added (name, labels, value, place)
ORDER BY place
ON CONFLICT (name, labels) DO UPDATE SET value = metric.value + excluded.value

-- live_runs: live runs with their open requests
SELECT state, count(*), sum(total - done - redirect - missing - skipped - dead - broken)::bigint
FROM (SELECT state, total, done, redirect, missing, skipped, dead, broken FROM run
      WHERE state IN ('queued', 'running', 'stopping') LIMIT ?) AS live
GROUP BY state

-- held: number of held hosts
SELECT count(*) FROM (SELECT 1 FROM host WHERE held_until > 0 AND held_until > ? LIMIT ?) AS held

-- store_bytes: size of the store
SELECT pg_database_size(current_database())

-- workers: number of workers and their slots
SELECT count(*), coalesce(sum(slots), 0)::bigint FROM worker WHERE gone_at IS NULL
