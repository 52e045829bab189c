-- add: add a token
INSERT INTO token (name, hash, actor, role, scopes, created_by, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING RETURNING id

-- same_name: a valid token with this name
SELECT 1 FROM token WHERE name = ?1 AND revoked_at IS NULL AND expires_at IS NULL
UNION ALL
SELECT 1 FROM token WHERE name = ?1 AND revoked_at IS NULL AND expires_at > ?2
LIMIT 1

-- by_id: a token
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE id = ?

-- by_hash: a token
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE hash = ?

-- after: tokens in the order they were created
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE id > ? ORDER BY id LIMIT ?

-- after_of: those of one actor
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE actor = ? AND id > ? ORDER BY id LIMIT ?

-- good_of: those of one actor that are not revoked, with their roles
SELECT id, role FROM token WHERE actor = ? AND revoked_at IS NULL

-- revoke: revoke a token
UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL

-- used: record a use
UPDATE token SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at + ?3 <= ?1)
