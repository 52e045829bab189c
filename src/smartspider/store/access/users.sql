-- add: add a user
INSERT INTO "user" (name, password, role, created_at) VALUES (?, ?, ?, ?) RETURNING id

-- any_user: whether there is a user
SELECT 1 FROM "user" ORDER BY id LIMIT 1

-- by_id: a user
SELECT id, name, password, role, created_at, disabled_at, session FROM "user" WHERE id = ?

-- by_name: a user
SELECT id, name, password, role, created_at, disabled_at, session FROM "user" WHERE name = ?

-- after: users in the order they were added
SELECT id, name, password, role, created_at, disabled_at, session FROM "user" WHERE id > ? ORDER BY id LIMIT ?

-- change: change a user
UPDATE "user" SET password = ?, role = ?, disabled_at = ?, session = session + ? WHERE id = ?

-- delete: delete a user
DELETE FROM "user" WHERE id = ?

-- other_admin: another enabled admin
SELECT id FROM "user" INDEXED BY user_admin WHERE role = 'admin' AND disabled_at IS NULL AND id > ?1
UNION ALL
SELECT id FROM "user" INDEXED BY user_admin WHERE role = 'admin' AND disabled_at IS NULL AND id < ?1
LIMIT 1

-- first_admin: the first enabled admin
SELECT id, name, password, role, created_at, disabled_at, session FROM "user"
WHERE role = 'admin' AND disabled_at IS NULL ORDER BY id LIMIT 1

-- end_sessions: delete the refresh tokens of a user
DELETE FROM refresh WHERE user_id = ?

-- end_browser_sessions: delete the sessions of a user in browsers
DELETE FROM browser_session WHERE user_id = ?

-- number_session: make the access tokens of a user invalid
UPDATE "user" SET session = session + 1 WHERE id = ?
