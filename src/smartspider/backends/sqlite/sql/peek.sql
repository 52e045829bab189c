-- last_run_id: the last id that a run of the folder was given
SELECT seq FROM sqlite_sequence WHERE name = 'run'

-- has_run: whether there is a run with an id
SELECT 1 FROM run WHERE id = ?

-- task_names: the names of all tasks, deleted ones with runs included
SELECT name FROM task UNION SELECT task_name FROM run

-- newest_run: the newest run
SELECT created_at, id, task_name FROM run ORDER BY id DESC LIMIT 1
