-- put__many: store a cookie, for many
INSERT INTO run_cookie (run_id, domain, path, name, version, value, number, set_at, is_host_only, is_secure,
    expires_at)
SELECT * FROM unnest(?::bigint[], ?::text[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bytea[], ?::bigint[],
                     ?::float8[], ?::bigint[], ?::bigint[], ?::float8[])
ON CONFLICT (run_id, domain, path, name) DO UPDATE SET version = excluded.version, value = excluded.value,
    number = excluded.number, set_at = excluded.set_at, is_host_only = excluded.is_host_only,
    is_secure = excluded.is_secure, expires_at = excluded.expires_at
WHERE excluded.set_at >= run_cookie.set_at
