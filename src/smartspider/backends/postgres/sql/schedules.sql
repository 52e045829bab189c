-- of_task: the schedule given in a task
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE task_id = ? AND is_of_task <> 0

-- next_of_task__many: the next due time of a task, for many
SELECT task_id, min(next_fire_at) FROM schedule WHERE task_id = ANY (?::bigint[]) AND is_enabled <> 0 GROUP BY task_id

-- next: the schedules that are due next
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE is_enabled <> 0 AND run_at IS NOT NULL ORDER BY run_at LIMIT ?

-- due: due schedules
SELECT id, task_id, rule, is_enabled, is_of_task, created_by, created_at, updated_at, next_fire_at, run_at
FROM schedule WHERE is_enabled <> 0 AND run_at IS NOT NULL AND run_at <= ? ORDER BY run_at LIMIT ?

-- watched: watched firings whose run has ended or was deleted
SELECT f.schedule_id, f.fire_at, f.at, f.outcome, f.reason, f.run_id, f.tries
FROM firing f LEFT JOIN run r ON r.id = f.run_id
WHERE f.is_watched <> 0 AND (r.id IS NULL OR r.state IN ('completed', 'failed', 'cancelled'))
ORDER BY f.schedule_id, f.fire_at LIMIT ?
