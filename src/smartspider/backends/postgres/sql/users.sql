-- other_admin: another enabled admin
SELECT id FROM "user" WHERE role = 'admin' AND disabled_at IS NULL AND id <> ?1 LIMIT 1
