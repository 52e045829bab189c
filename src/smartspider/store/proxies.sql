-- proxy: a proxy
SELECT id, pool, kind, address, weight, owner, requests, failures, success, latency_s, banned_until, ban_s, error,
  created_at, used_at
FROM proxy WHERE id = ?

-- proxies: proxies in the order of their ids
SELECT id, pool, kind, address, weight, owner, requests, failures, success, latency_s, banned_until, ban_s, error,
  created_at, used_at
FROM proxy WHERE id > ? ORDER BY id LIMIT ?

-- in_pool: proxies of a pool
SELECT id, pool, kind, address, weight, owner, requests, failures, success, latency_s, banned_until, ban_s, error,
  created_at, used_at
FROM proxy WHERE pool = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- totals: proxies that are free and banned, and what came of their requests
SELECT coalesce(sum(CASE WHEN banned_until > ?1 THEN 0 ELSE 1 END), 0),
  coalesce(sum(CASE WHEN banned_until > ?1 THEN 1 ELSE 0 END), 0),
  coalesce(sum(requests - failures), 0), coalesce(sum(failures), 0) FROM proxy

-- count: number of proxies in a pool
SELECT count(*) FROM proxy WHERE pool = ?

-- add: add a proxy
INSERT INTO proxy (pool, kind, address, weight, owner, created_at) VALUES (?, ?, ?, ?, ?, ?)
RETURNING id

-- delete: delete a proxy
DELETE FROM proxy WHERE id = ?

-- report: add the requests of a worker
UPDATE proxy SET requests = requests + ?2, failures = failures + ?3, success = success * ?4 + ?5,
  latency_s = CASE WHEN ?6 < 0 THEN latency_s WHEN latency_s IS NULL THEN ?6 ELSE latency_s * ?4 + ?6 * (1 - ?4) END,
  ban_s = CASE WHEN ?6 < 0 OR banned_until > ?7 THEN ban_s ELSE 0 END,
  error = CASE WHEN ?6 < 0 OR banned_until > ?7 THEN error ELSE '' END, used_at = ?7
WHERE id = ?1

-- ban_failed: ban a proxy that failed for twice as long as the last time; one that is banned stays as it is
UPDATE proxy SET error = ?2,
  ban_s = CASE WHEN ban_s = 0 THEN ?4 WHEN ban_s * 2 > ?5 THEN ?5 ELSE ban_s * 2 END,
  banned_until = ?3 + CASE WHEN ban_s = 0 THEN ?4 WHEN ban_s * 2 > ?5 THEN ?5 ELSE ban_s * 2 END
WHERE id = ?1 AND banned_until <= ?3

-- set_ban: ban a proxy until a time, or end its ban
UPDATE proxy SET banned_until = ?2, ban_s = 0, error = ?3 WHERE id = ?1
