-- find: what is known of a key
SELECT asked, created_at, status, headers, body FROM answer WHERE actor = ? AND key = ?

-- claim: from now on a request is worked on, whatever was there before. Until it is answered, the headers hold the
-- token of whoever works on it, and the body what was made of it
INSERT INTO answer (actor, key, asked, created_at, headers) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (actor, key) DO UPDATE SET asked = excluded.asked, created_at = excluded.created_at,
    status = NULL, headers = excluded.headers, body = NULL

-- renew: it is still worked on
UPDATE answer SET created_at = ? WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- mark: something was made of it; the first of several is what was asked for
UPDATE answer SET body = coalesce(body, ?) WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- keep: the answer to what is worked on
UPDATE answer SET status = ?, headers = ?, body = ?
WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- give_up: nobody works on it, and nothing was made of it
DELETE FROM answer WHERE actor = ? AND key = ? AND status IS NULL AND headers = ? AND body IS NULL

-- lapse: nobody works on it any more, but something was made of it
UPDATE answer SET created_at = created_at - ? WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- old: keys of answers that nobody may ask for again, the oldest first
SELECT actor, key FROM answer WHERE created_at < ? ORDER BY created_at LIMIT ?

-- forget: one of them
DELETE FROM answer WHERE actor = ? AND key = ?
