-- add: a token
INSERT INTO token (name, hash, actor, role, scopes, created_by, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING RETURNING id

-- same_name: a token of this name that is good
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

-- after: tokens in the order they were made
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE id > ? ORDER BY id LIMIT ?

-- after_of: those that act for somebody
SELECT id, name, actor, role, scopes, created_by, created_at, expires_at, used_at, revoked_at
FROM token WHERE actor = ? AND id > ? ORDER BY id LIMIT ?

-- good_of: those that act for somebody and are not revoked, by their roles
SELECT id, role FROM token WHERE actor = ? AND revoked_at IS NULL

-- revoke: it is good for nothing
UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL

-- used: somebody came with it
UPDATE token SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at + ?3 <= ?1)
