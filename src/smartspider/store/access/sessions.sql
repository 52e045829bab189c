-- add: add a refresh token
INSERT INTO refresh (hash, user_id, family, expires_at) VALUES (?, ?, ?, ?)

-- by_hash: a refresh token
SELECT user_id, family, expires_at, used_at FROM refresh WHERE hash = ?

-- used: mark it as used
UPDATE refresh SET used_at = ? WHERE hash = ?

-- end_family: end all sessions of a family
DELETE FROM refresh WHERE family = ?

-- in_family: whether a family has a session
SELECT user_id FROM refresh WHERE family = ? LIMIT 1

-- add_ticket: add a ticket for a WebSocket
INSERT INTO ticket (hash, principal, expires_at) VALUES (?, ?, ?)

-- use_ticket: use up a ticket
DELETE FROM ticket WHERE hash = ? RETURNING principal, expires_at

-- old_refreshes: expired refresh tokens
SELECT hash FROM refresh WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- old_tickets: expired tickets
SELECT hash FROM ticket WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- forget_refresh: delete a refresh token
DELETE FROM refresh WHERE hash = ?

-- forget_ticket: delete a ticket
DELETE FROM ticket WHERE hash = ?
