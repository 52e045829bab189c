-- find: what is known of a key
SELECT asked, created_at, status, headers, body FROM answer WHERE actor = ? AND key = ?

-- claim: from now on a request is worked on, whatever was there before
INSERT INTO answer (actor, key, asked, created_at) VALUES (?, ?, ?, ?)
ON CONFLICT (actor, key) DO UPDATE SET asked = excluded.asked, created_at = excluded.created_at,
    status = NULL, headers = NULL, body = NULL

-- keep: the answer to what is worked on
UPDATE answer SET status = ?, headers = ?, body = ? WHERE actor = ? AND key = ? AND status IS NULL

-- give_up: nobody works on it
DELETE FROM answer WHERE actor = ? AND key = ? AND status IS NULL

-- old: keys of answers that nobody may ask for again, the oldest first
SELECT actor, key FROM answer WHERE created_at < ? ORDER BY created_at LIMIT ?

-- forget: one of them
DELETE FROM answer WHERE actor = ? AND key = ?
