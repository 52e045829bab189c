-- add: add a schedule
INSERT INTO schedule (task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING id

-- set_times: set when it is due by its rule, and when its run starts
UPDATE schedule SET next_fire_at = ?, run_at = ? WHERE id = ?

-- change: change the rule
UPDATE schedule SET rule = ?, is_enabled = ?, updated_at = ? WHERE id = ?

-- get: a schedule
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE id = ?

-- of_task: the schedule given in a task
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE task_id = ? AND is_of_task

-- after: schedules in the order they were created
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE id > ? ORDER BY id LIMIT ?

-- after_of_task: those of one task
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE task_id = ? AND id > ? ORDER BY id LIMIT ?

-- count_of_task: number of schedules of a task
SELECT count(*) FROM schedule WHERE task_id = ?

-- next_of_task: the next due time of a task
SELECT task_id, min(next_fire_at) FROM schedule WHERE task_id = ? AND is_enabled <> 0 GROUP BY task_id

-- next: the schedules that are due next
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE is_enabled AND run_at IS NOT NULL ORDER BY run_at LIMIT ?

-- troubled: firings since a moment that started no run, newest first
SELECT schedule_id, fire_at, at, outcome, reason, run_id, tries FROM firing
WHERE at >= ? AND outcome IN ('missed', 'failed') ORDER BY at DESC LIMIT ?

-- due: due schedules
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE is_enabled AND run_at IS NOT NULL AND run_at <= ? ORDER BY run_at LIMIT ?

-- delete: delete a schedule
DELETE FROM schedule WHERE id = ?

-- delete_firings: delete its history
DELETE FROM firing WHERE schedule_id = ?

-- postpone: consider a due schedule later
UPDATE schedule SET run_at = ? WHERE id = ?

-- add_firing: add a firing, once for each time
INSERT INTO firing (schedule_id, fire_at, at, outcome, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- set_run: set the run of a firing
UPDATE firing SET run_id = ?, is_watched = ? WHERE schedule_id = ? AND fire_at = ?

-- old_firings: delete firings beyond the kept number
DELETE FROM firing WHERE schedule_id = ?1 AND is_watched = 0 AND fire_at <= (
    SELECT fire_at FROM firing WHERE schedule_id = ?1 ORDER BY fire_at DESC LIMIT 1 OFFSET ?2
)

-- firings: newest first
SELECT schedule_id, fire_at, at, outcome, reason, run_id, tries FROM firing
WHERE schedule_id = ? AND fire_at < ? ORDER BY fire_at DESC LIMIT ?

-- firing: a firing
SELECT schedule_id, fire_at, at, outcome, reason, run_id, tries FROM firing WHERE schedule_id = ? AND fire_at = ?

-- watched: watched firings whose run has ended or was deleted
SELECT f.schedule_id, f.fire_at, f.at, f.outcome, f.reason, f.run_id, f.tries
FROM firing f INDEXED BY firing_watched LEFT JOIN run r ON r.id = f.run_id
WHERE f.is_watched AND (r.id IS NULL OR r.state IN ('completed', 'failed', 'cancelled'))
ORDER BY f.schedule_id, f.fire_at LIMIT ?

-- try_again: count a retry, once
UPDATE firing SET tries = tries + 1, reason = ?
WHERE schedule_id = ? AND fire_at = ? AND tries = ? AND is_watched <> 0

-- let_be: stop watching a firing
UPDATE firing SET is_watched = 0 WHERE schedule_id = ? AND fire_at = ? AND run_id IS NOT DISTINCT FROM ?

-- active: a run of a task that another one would overlap with
SELECT id, state FROM run
WHERE task_id = ? AND state NOT IN ('completed', 'failed', 'cancelled') AND state <> 'stopped' ORDER BY id LIMIT 1
