-- add: add a task
INSERT INTO task (name, owner, created_at, updated_at, version) VALUES (?1, ?2, ?3, ?3, 1) RETURNING id

-- by_id: a task, also a deleted one
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task WHERE id = ?

-- by_name: the task with a name
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task WHERE name = ? AND deleted_at IS NULL

-- named_alike: a name that differs at most in upper and lower case
SELECT name FROM task WHERE LOWER(name) = LOWER(?) AND deleted_at IS NULL

-- listed: tasks; conditions and an order are appended
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task WHERE deleted_at IS NULL

-- changed: set the newest version
UPDATE task SET version = ?, updated_at = ? WHERE id = ?

-- deleted: mark as deleted
UPDATE task SET deleted_at = ?1, updated_at = ?1 WHERE id = ?2

-- delete_firings: delete the firings of a task's schedules
DELETE FROM firing WHERE schedule_id IN (SELECT id FROM schedule WHERE task_id = ?)

-- delete_schedules: delete the schedules of a task
DELETE FROM schedule WHERE task_id = ?

-- delete_notifications: delete the notifications of a task's targets
DELETE FROM notification WHERE target_id IN (SELECT id FROM notification_target WHERE task_id = ?)

-- delete_targets: delete the targets of a task
DELETE FROM notification_target WHERE task_id = ?

-- add_version: add a version
INSERT INTO task_version (task_id, number, spec, spec_hash, author, created_at, note) VALUES (?, ?, ?, ?, ?, ?, ?)

-- version: a version
SELECT task_id, number, spec, spec_hash, author, created_at, note FROM task_version
WHERE task_id = ? AND number = ?

-- versions: versions, newest first
SELECT task_id, number, spec, spec_hash, author, created_at, note FROM task_version
WHERE task_id = ? AND number < ? ORDER BY number DESC LIMIT ?

-- unfinished: an unfinished run of a task
SELECT id, state FROM run
WHERE task_id = ? AND state NOT IN ('completed', 'failed', 'cancelled') ORDER BY id LIMIT 1
