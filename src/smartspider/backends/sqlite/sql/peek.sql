-- last_run_id: the last id that a run of the folder was given
SELECT seq FROM sqlite_sequence WHERE name = 'run'

-- has_run: whether there is a run with an id
SELECT 1 FROM run WHERE id = ?

-- has_task: whether there is a task with a name, a deleted one included
SELECT 1 FROM run WHERE task_name = ?1 UNION ALL SELECT 1 FROM task WHERE name = ?1 LIMIT 1

-- newest_run: the newest run
SELECT created_at, id, task_name FROM run ORDER BY id DESC LIMIT 1
