-- cookie_set: a set of cookies
SELECT id, domain, name, owner, is_shared, state, slots, check_url, signed_out, uploads, version, usage_count, used_at,
  reason, checked_at, created_at, updated_at
FROM cookie_set WHERE id = ?

-- named: a set of cookies by its name
SELECT id FROM cookie_set WHERE name = ?

-- cookie_sets: sets of cookies in the order of their ids
SELECT id, domain, name, owner, is_shared, state, slots, check_url, signed_out, uploads, version, usage_count, used_at,
  reason, checked_at, created_at, updated_at
FROM cookie_set WHERE id > ? ORDER BY id LIMIT ?

-- of_domain: sets of cookies of a domain
SELECT id, domain, name, owner, is_shared, state, slots, check_url, signed_out, uploads, version, usage_count, used_at,
  reason, checked_at, created_at, updated_at
FROM cookie_set WHERE domain = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- states: number of sets of cookies by state
SELECT state, count(*) FROM cookie_set GROUP BY state ORDER BY state

-- count: number of sets of cookies
SELECT count(*) FROM cookie_set

-- has_usable: a set of a domain that the tasks of an owner may use, whatever its state
SELECT 1 FROM cookie_set WHERE domain = ?1 AND (?2 = '*' OR owner = ?2 OR is_shared = 1) LIMIT 1

-- has_active: an active set of a domain that the tasks of an owner may use
SELECT 1 FROM cookie_set
WHERE domain = ?1 AND state = 'active' AND (?2 = '*' OR owner = ?2 OR is_shared = 1) LIMIT 1

-- to_check: active sets with a page to check that were used since a time, and not checked since another
SELECT id FROM cookie_set WHERE state = 'active' AND check_url <> '' AND coalesce(checked_at, 0) < ?1 AND used_at > ?2
ORDER BY coalesce(checked_at, 0), id LIMIT ?3

-- add: add a set of cookies
INSERT INTO cookie_set (domain, name, owner, is_shared, state, slots, check_url, signed_out, uploads, version,
  usage_count, used_at, reason, wanted_at, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, 'active', ?5, ?6, ?7, 1, 1, 0, 0, '', 0, ?8, ?8) RETURNING id

-- change: note another upload
UPDATE cookie_set SET is_shared = ?2, state = 'active', slots = ?3, check_url = ?4, signed_out = ?5,
  uploads = uploads + 1, version = version + 1, reason = '', checked_at = NULL, updated_at = ?6
WHERE id = ?1

-- set_state: activate a set of cookies, or set it aside
UPDATE cookie_set SET state = ?2, reason = ?3, updated_at = ?4 WHERE id = ?1

-- checked: note that a set of cookies was checked
UPDATE cookie_set SET checked_at = ?2 WHERE id = ?1

-- delete: delete a set of cookies
DELETE FROM cookie_set WHERE id = ?

-- add_slot: add a slot to a set of cookies
INSERT INTO cookie_slot (set_id, number, token, holder, until, since, requests) VALUES (?, ?, '', '', 0, 0, 0)
ON CONFLICT (set_id, number) DO NOTHING

-- delete_slots: delete the slots of a set of cookies from a number on
DELETE FROM cookie_slot WHERE set_id = ? AND number >= ?

-- free_slot: the slot of a domain that was used least recently
SELECT s.set_id, s.number, c.slots FROM cookie_set c JOIN cookie_slot s ON s.set_id = c.id
WHERE c.domain = ?1 AND c.state = 'active' AND (?2 = '*' OR c.owner = ?2 OR c.is_shared = 1) AND s.until <= ?3
ORDER BY c.used_at, c.id LIMIT 1

-- free_slot_of_set: a free slot of a set of cookies
SELECT s.set_id, s.number, c.slots FROM cookie_set c JOIN cookie_slot s ON s.set_id = c.id
WHERE c.id = ?1 AND (c.state = 'active' OR (?4 = 1 AND c.state = 'invalid'))
  AND (?2 = '*' OR c.owner = ?2 OR c.is_shared = 1) AND s.until <= ?3
ORDER BY s.number LIMIT 1

-- take_slot: lend a slot
UPDATE cookie_slot SET token = ?3, holder = ?4, until = ?5, since = ?6, requests = 0 WHERE set_id = ?1 AND number = ?2

-- used: note that a set of cookies is used
UPDATE cookie_set SET used_at = ?2 WHERE id = ?1

-- want: note that a borrower found no free slot of a domain
UPDATE cookie_set SET wanted_at = ?2 WHERE domain = ?1 AND state = 'active' AND wanted_at < ?2 - 5

-- want_set: note that a borrower found no free slot of a set
UPDATE cookie_set SET wanted_at = ?2 WHERE id = ?1 AND state = 'active' AND wanted_at < ?2 - 5

-- holders: who holds slots of a domain or a set
SELECT DISTINCT s.holder FROM cookie_set c JOIN cookie_slot s ON s.set_id = c.id
WHERE (c.domain = ?1 OR c.id = ?2) AND s.until > ?3 AND s.holder <> ''

-- free_holder: free the slots of a holder that ended
UPDATE cookie_slot SET token = '', holder = '', until = 0 WHERE holder = ?

-- leased: a lent slot by its token
SELECT s.set_id, s.requests, s.since, c.state, c.wanted_at, c.uploads FROM cookie_slot s
JOIN cookie_set c ON c.id = s.set_id WHERE s.token = ?1 AND s.until > ?2

-- renew: lend a slot for another term, and note how many requests its holder sent so far
UPDATE cookie_slot SET until = ?2, requests = ?3 WHERE token = ?1

-- give_back: free a lent slot
UPDATE cookie_slot SET token = '', holder = '', until = 0 WHERE token = ?

-- count_usage: count requests
UPDATE cookie_set SET usage_count = usage_count + ?2, used_at = ?3 WHERE id = ?1

-- versions: the uploads and the version of a set of cookies
SELECT uploads, version FROM cookie_set WHERE id = ?

-- jar: cookies of a set that changed after a version, with their sealed values
SELECT j.id, j.domain, j.path, j.name, j.version, j.number, j.set_at, j.is_host_only, j.is_secure, j.expires_at,
  s.key_id, s.data_key, s.value
FROM stored_cookie j LEFT JOIN sealed s ON s.kind = 'cookie' AND s.id = j.id
WHERE j.set_id = ? AND j.version > ? ORDER BY j.number

-- living: number of living cookies of some sets
SELECT set_id, count(*) FROM stored_cookie
WHERE set_id BETWEEN ?1 AND ?2 AND (expires_at IS NULL OR expires_at > ?3) GROUP BY set_id

-- lent: number of lent slots of some sets
SELECT set_id, count(*) FROM cookie_slot WHERE set_id BETWEEN ?1 AND ?2 AND until > ?3 GROUP BY set_id

-- listed: cookies of a set, without their values
SELECT name, domain, path, is_host_only, is_secure, expires_at FROM stored_cookie
WHERE set_id = ?1 AND (expires_at IS NULL OR expires_at > ?2) ORDER BY domain, path, name

-- stored_cookie: a cookie of a set
SELECT id, set_at FROM stored_cookie WHERE set_id = ? AND domain = ? AND path = ? AND name = ?

-- add_cookie: add a cookie to a set
INSERT INTO stored_cookie (set_id, domain, path, name, version, number, set_at, is_host_only, is_secure, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id

-- change_cookie: note another value of a cookie
UPDATE stored_cookie SET version = ?2, number = ?3, set_at = ?4, is_host_only = ?5, is_secure = ?6, expires_at = ?7
WHERE id = ?1

-- next_version: the version of the next change to a set
SELECT version + 1 FROM cookie_set WHERE id = ?

-- set_version: set the version of a set of cookies
UPDATE cookie_set SET version = ?2 WHERE id = ?1

-- purge: cookies of a set that were deleted long ago
DELETE FROM stored_cookie WHERE set_id = ? AND version < ? AND expires_at = 0

-- cookie_ids: ids of the cookies of a set
SELECT id FROM stored_cookie WHERE set_id = ?

-- delete_cookies: delete the cookies of a set
DELETE FROM stored_cookie WHERE set_id = ?
