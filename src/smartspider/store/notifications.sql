-- add_target: add a target
INSERT INTO notification_target (kind, address, task_id, events, is_enabled, created_by, created_at)
VALUES (?, ?, ?, ?, 1, ?, ?) RETURNING id

-- count_targets: number of targets
SELECT count(*) FROM notification_target

-- target: a target
SELECT id, kind, address, events, task_id, is_enabled, created_by, created_at FROM notification_target WHERE id = ?

-- targets: targets in the order they were added
SELECT id, kind, address, events, task_id, is_enabled, created_by, created_at FROM notification_target
WHERE id > ? ORDER BY id LIMIT ?

-- change_target: change a target
UPDATE notification_target SET address = ?, events = ?, task_id = ?, is_enabled = ? WHERE id = ?

-- delete_target: delete a target
DELETE FROM notification_target WHERE id = ?

-- delete_notifications: delete the notifications of a target
DELETE FROM notification WHERE target_id = ?

-- put: add a notification, once for each target, event and name
INSERT INTO notification (target_id, event_id, name, run_id, data, created_at, due_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6 WHERE EXISTS (SELECT 1 FROM notification_target WHERE id = ?1)
ON CONFLICT DO NOTHING RETURNING id

-- due: notifications to deliver now
SELECT id, target_id, name, run_id, data, created_at, tries, due_at, ended_at, error FROM notification
WHERE due_at IS NOT NULL AND due_at <= ? AND EXISTS (
  SELECT 1 FROM notification_target WHERE id = notification.target_id AND is_enabled = 1
) ORDER BY due_at LIMIT ?

-- delivered: mark as delivered
UPDATE notification SET tries = tries + 1, due_at = NULL, ended_at = ?, error = '' WHERE id = ? AND due_at IS NOT NULL

-- failed: mark as failed
UPDATE notification SET tries = tries + 1, due_at = ?1, ended_at = CASE WHEN ?1 IS NULL THEN ?2 END, error = ?3
WHERE id = ?4 AND due_at IS NOT NULL

-- before: newest first
SELECT id, target_id, name, run_id, data, created_at, tries, due_at, ended_at, error FROM notification
WHERE id < ? ORDER BY id DESC LIMIT ?

-- before_of_target: those of one target, newest first
SELECT id, target_id, name, run_id, data, created_at, tries, due_at, ended_at, error FROM notification
WHERE target_id = ? AND id < ? ORDER BY id DESC LIMIT ?

-- sweep: delete some of the oldest that ended before a moment
DELETE FROM notification WHERE id IN (SELECT id FROM notification ORDER BY id LIMIT 500) AND ended_at < ?
