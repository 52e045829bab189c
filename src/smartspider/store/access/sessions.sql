-- add: add a refresh token
INSERT INTO refresh (hash, user_id, family, expires_at) VALUES (?, ?, ?, ?)

-- by_hash: a refresh token
SELECT user_id, family, expires_at, used_at FROM refresh WHERE hash = ?

-- used: mark it as used
UPDATE refresh SET used_at = ? WHERE hash = ?

-- end_family: end all sessions of a family
DELETE FROM refresh WHERE family = ?

-- end_browser_family: end the session of a browser
DELETE FROM browser_session WHERE family = ?

-- in_family: whether a family has a session
SELECT user_id FROM refresh WHERE family = ? UNION ALL SELECT user_id FROM browser_session WHERE family = ? LIMIT 1

-- add_browser_session: add a session of a browser
INSERT INTO browser_session (hash, user_id, family, principal, expires_at) VALUES (?, ?, ?, ?, ?)

-- browser_session: the session of a cookie
SELECT principal, expires_at FROM browser_session WHERE hash = ?

-- browser_session_of: the session that an access token names
SELECT principal, expires_at FROM browser_session WHERE family = ?

-- add_ticket: add a ticket
INSERT INTO ticket (hash, principal, address, expires_at) VALUES (?, ?, ?, ?)

-- use_ticket: use up a ticket
DELETE FROM ticket WHERE hash = ? AND (address = ? OR address = ?) RETURNING principal, expires_at

-- old_refreshes: expired refresh tokens
SELECT hash FROM refresh WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- old_browser_sessions: expired sessions of browsers
SELECT hash FROM browser_session WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- old_tickets: expired tickets
SELECT hash FROM ticket WHERE expires_at <= ? ORDER BY expires_at LIMIT ?

-- forget_refresh: delete a refresh token
DELETE FROM refresh WHERE hash = ?

-- forget_browser_session: delete a session of a browser
DELETE FROM browser_session WHERE hash = ?

-- forget_ticket: delete a ticket
DELETE FROM ticket WHERE hash = ?
