-- find: the state of a key
SELECT asked, created_at, status, headers, body FROM answer WHERE actor = ? AND key = ?

-- claim: claim a key, whatever was there before. Until there is a response, the headers hold the token of the claim,
-- and the body what was created
INSERT INTO answer (actor, key, asked, created_at, headers) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (actor, key) DO UPDATE SET asked = excluded.asked, created_at = excluded.created_at,
    status = NULL, headers = excluded.headers, body = NULL

-- renew: renew a claim
UPDATE answer SET created_at = ? WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- mark: record what was created; the first of several is the requested one
UPDATE answer SET body = coalesce(body, ?) WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- keep: store the response of a claim
UPDATE answer SET status = ?, headers = ?, body = ?
WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- give_up: delete a claim that created nothing
DELETE FROM answer WHERE actor = ? AND key = ? AND status IS NULL AND headers = ? AND body IS NULL

-- lapse: expire a claim that created something
UPDATE answer SET created_at = created_at - ? WHERE actor = ? AND key = ? AND status IS NULL AND headers = ?

-- old: keys of expired responses, oldest first
SELECT actor, key FROM answer WHERE created_at < ? ORDER BY created_at LIMIT ?

-- forget: delete a response
DELETE FROM answer WHERE actor = ? AND key = ?
