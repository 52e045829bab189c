-- version: the version of the cookies of a run
SELECT cookie_version FROM run WHERE id = ?

-- after: cookies that were stored after a version
SELECT domain, path, name, value, number, set_at, is_host_only, is_secure, expires_at FROM run_cookie
WHERE run_id = ? AND version > ?

-- put: store a cookie
INSERT INTO run_cookie (run_id, domain, path, name, version, value, number, set_at, is_host_only, is_secure,
    expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, domain, path, name) DO UPDATE SET version = excluded.version, value = excluded.value,
    number = excluded.number, set_at = excluded.set_at, is_host_only = excluded.is_host_only,
    is_secure = excluded.is_secure, expires_at = excluded.expires_at
WHERE excluded.set_at >= run_cookie.set_at

-- set_version: set the version of the cookies of a run
UPDATE run SET cookie_version = ? WHERE id = ?

-- purge: forget cookies that were deleted long ago
DELETE FROM run_cookie WHERE run_id = ? AND version < ? AND expires_at = 0

-- delete: delete some thousand cookies of a run
DELETE FROM run_cookie WHERE (run_id, domain, path, name) IN
    (SELECT run_id, domain, path, name FROM run_cookie WHERE run_id = ? LIMIT 9999)
