-- add: a task
INSERT INTO task (name, owner, created_at, updated_at, version) VALUES (?1, ?2, ?3, ?3, 1) RETURNING id

-- by_id: a task, also a deleted one
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task WHERE id = ?

-- by_name: the task that has a name now
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task WHERE name = ? AND deleted_at IS NULL

-- after: tasks in the order they were created
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task
WHERE id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?

-- named: tasks whose names begin alike, in the order of their names
SELECT id, name, owner, created_at, updated_at, version, deleted_at FROM task
WHERE deleted_at IS NULL AND name >= ? AND name < ? ORDER BY name LIMIT ?

-- changed: a task has a new version
UPDATE task SET version = ?, updated_at = ? WHERE id = ?

-- deleted: only its versions are left
UPDATE task SET deleted_at = ?1, updated_at = ?1 WHERE id = ?2

-- delete_firings: what came of the schedules of a task
DELETE FROM firing WHERE schedule_id IN (SELECT id FROM schedule WHERE task_id = ?)

-- delete_schedules: a deleted task is run no more
DELETE FROM schedule WHERE task_id = ?

-- delete_notifications: what waits for those who were told of a task
DELETE FROM notification WHERE target_id IN (SELECT id FROM notification_target WHERE task_id = ?)

-- delete_targets: who was told of a task alone
DELETE FROM notification_target WHERE task_id = ?

-- add_version: a task as it was written
INSERT INTO task_version (task_id, number, spec, spec_hash, author, created_at, note) VALUES (?, ?, ?, ?, ?, ?, ?)

-- version: one version
SELECT task_id, number, spec, spec_hash, author, created_at, note FROM task_version
WHERE task_id = ? AND number = ?

-- versions: versions, newest first
SELECT task_id, number, spec, spec_hash, author, created_at, note FROM task_version
WHERE task_id = ? AND number < ? ORDER BY number DESC LIMIT ?

-- unfinished: a run of a task that somebody may go on with
SELECT id, state FROM run
WHERE task_id = ? AND state NOT IN ('completed', 'failed', 'cancelled') ORDER BY id LIMIT 1
