-- tasks: tasks of a user, up to a limit
SELECT count(*) FROM (SELECT 1 FROM task WHERE owner = ?1 AND deleted_at IS NULL LIMIT ?2) AS few

-- schedules: schedules of a user, up to a limit
SELECT count(*) FROM (SELECT 1 FROM schedule WHERE created_by = ?1 LIMIT ?2) AS few

-- notifications: notification targets of a user, up to a limit
SELECT count(*) FROM (SELECT 1 FROM notification_target WHERE created_by = ?1 LIMIT ?2) AS few

-- tokens: valid tokens of a user, up to a limit
SELECT count(*) FROM (SELECT 1 FROM token WHERE actor = ?1 AND revoked_at IS NULL
                      AND (expires_at IS NULL OR expires_at > ?3) LIMIT ?2) AS few

-- runs: active runs of the tasks of a user, up to a limit
SELECT count(*) FROM (SELECT 1 FROM run r JOIN task t ON t.id = r.task_id
                      WHERE r.state IN ('created', 'queued', 'running', 'paused', 'stopping') AND t.owner = ?1
                      LIMIT ?2) AS few

-- is_limited: whether an owner is a user or token without the role admin
SELECT 1 FROM "user" WHERE name = ?1 AND role <> 'admin'
UNION ALL
SELECT 1 FROM token WHERE actor = ?1 AND role <> 'admin' AND NOT EXISTS (SELECT 1 FROM "user" WHERE name = ?1)
LIMIT 1
