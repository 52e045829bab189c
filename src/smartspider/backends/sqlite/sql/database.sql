-- last_moment: the latest recorded moment of store time
SELECT max(coalesce((SELECT max(asked_at) FROM run), 0), coalesce((SELECT max(joined_at) FROM worker), 0))

-- move_leases: shift deadlines
UPDATE lease SET deadline_at = deadline_at + ?

-- move_later: shift due times
UPDATE later SET due_at = due_at + ?

-- move_slots: shift the terms of lent cookies
UPDATE cookie_slot SET until = until + ? WHERE until > 0

-- open_lanes: open all lanes, so that gates are read again
UPDATE lane SET wake_at = NULL WHERE wake_at IS NOT NULL

-- last_run_id: the last id that a run was given
SELECT seq FROM sqlite_sequence WHERE name = 'run'

-- add_run_sequence: start the ids of runs after a number
INSERT INTO sqlite_sequence (name, seq) VALUES ('run', ?)

-- set_run_sequence: continue the ids of runs after a number
UPDATE sqlite_sequence SET seq = ? WHERE name = 'run'
