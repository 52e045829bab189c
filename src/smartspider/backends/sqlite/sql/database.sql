-- shift: by how much store time is ahead of the machine's monotonic clock
SELECT value FROM meta WHERE name = 'shift'

-- set_shift: let store time follow the wall clock
UPDATE meta SET value = ? WHERE name = 'shift'

-- last_moment: the latest recorded moment of store time
SELECT max(coalesce((SELECT max(asked_at) FROM run), 0), coalesce((SELECT max(joined_at) FROM worker), 0))

-- move_hosts: shift the last slot and the hold of every host
UPDATE host SET sent_until = sent_until + ?1, held_until = held_until + ?1, slowed_at = slowed_at + ?1

-- move_leases: shift deadlines
UPDATE lease SET deadline_at = deadline_at + ?

-- move_later: shift due times
UPDATE later SET due_at = due_at + ?

-- move_runs: shift the start of running runs
UPDATE run SET resumed_at = resumed_at + ?

-- open_lanes: open all lanes, so that gates are read again
UPDATE lane SET wake_at = NULL WHERE wake_at IS NOT NULL

-- last_run_id: the last id that a run was given
SELECT seq FROM sqlite_sequence WHERE name = 'run'

-- add_run_sequence: start the ids of runs after a number
INSERT INTO sqlite_sequence (name, seq) VALUES ('run', ?)

-- set_run_sequence: continue the ids of runs after a number
UPDATE sqlite_sequence SET seq = ? WHERE name = 'run'
