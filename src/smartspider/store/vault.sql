-- installation: the random id that sealed values are bound to
SELECT id FROM vault

-- set_installation: choose it, once
INSERT INTO vault (id) VALUES (?)

-- secret: a named secret
SELECT id, name, owner, is_shared, version, created_at, updated_at, used_at FROM secret WHERE name = ?

-- secrets: named secrets by name
SELECT id, name, owner, is_shared, version, created_at, updated_at, used_at FROM secret
WHERE name > ? ORDER BY name LIMIT ?

-- count_secrets: number of named secrets
SELECT count(*) FROM secret

-- add_secret: add a named secret
INSERT INTO secret (name, owner, is_shared, version, created_at, updated_at) VALUES (?1, ?2, ?3, 1, ?4, ?4) RETURNING id

-- change_secret: note another value of a named secret
UPDATE secret SET is_shared = ?, version = ?, updated_at = ? WHERE id = ?

-- used: note that a named secret was opened
UPDATE secret SET used_at = ? WHERE id = ?

-- delete_secret: delete a named secret
DELETE FROM secret WHERE id = ?

-- seal: store the sealed value of a record
INSERT INTO sealed (kind, id, version, key_id, data_key, value) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET
  version = excluded.version, key_id = excluded.key_id, data_key = excluded.data_key, value = excluded.value

-- sealed: the sealed value of a record
SELECT kind, id, version, key_id, data_key, value FROM sealed WHERE kind = ? AND id = ?

-- all_sealed: sealed values in the order of their records
SELECT kind, id, version, key_id, data_key, value FROM sealed
WHERE kind > ?1 OR (kind = ?1 AND id > ?2) ORDER BY kind, id LIMIT ?3

-- unseal: delete the sealed value of a record
DELETE FROM sealed WHERE kind = ? AND id = ?

-- key_ids: the master keys that sealed values need, each found by one look-up
WITH RECURSIVE needed (key_id) AS (
  SELECT min(key_id) FROM sealed
  UNION ALL
  SELECT (SELECT min(key_id) FROM sealed WHERE key_id > needed.key_id) FROM needed WHERE key_id IS NOT NULL
)
SELECT key_id FROM needed WHERE key_id IS NOT NULL

-- key_counts: sealed values by master key
SELECT key_id, count(*) FROM sealed GROUP BY key_id ORDER BY key_id

-- of_other_keys: some sealed values that another master key opens
SELECT kind, id, version, key_id, data_key, value FROM sealed WHERE key_id <> ? ORDER BY kind, id LIMIT ?

-- rewrap: store the data key of a record as another master key wraps it
UPDATE sealed SET key_id = ?, data_key = ? WHERE kind = ? AND id = ?
