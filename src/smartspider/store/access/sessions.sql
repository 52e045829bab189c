-- add: what a session can be prolonged with
INSERT INTO refresh (hash, user_id, family, expires_at) VALUES (?, ?, ?, ?)

-- by_hash: a refresh
SELECT user_id, family, expires_at, used_at FROM refresh WHERE hash = ?

-- used: it was good once
UPDATE refresh SET used_at = ? WHERE hash = ?

-- end_family: sign out
DELETE FROM refresh WHERE family = ?

-- in_family: whether a sign-in still stands
SELECT user_id FROM refresh WHERE family = ? LIMIT 1

-- add_ticket: opens one WebSocket
INSERT INTO ticket (hash, principal, expires_at) VALUES (?, ?, ?)

-- use_ticket: it is good no more
DELETE FROM ticket WHERE hash = ? RETURNING principal, expires_at

-- old_refreshes: their time is over
SELECT hash FROM refresh WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- old_tickets: their time is over
SELECT hash FROM ticket WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- forget_refresh: as if there had been none
DELETE FROM refresh WHERE hash = ?

-- forget_ticket: as if there had been none
DELETE FROM ticket WHERE hash = ?
