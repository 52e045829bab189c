-- shift: how far store time is ahead of the machine's monotonic clock
SELECT value FROM meta WHERE name = 'shift'

-- set_shift: store time follows the wall clock
UPDATE meta SET value = ? WHERE name = 'shift'

-- last_moment: the latest moment of store time that left a trace
SELECT max(coalesce((SELECT max(asked_at) FROM run), 0), coalesce((SELECT max(joined_at) FROM worker), 0))

-- move_hosts: the last slot and the hold of every host
UPDATE host SET sent_until = sent_until + ?1, held_until = held_until + ?1, slowed_at = slowed_at + ?1

-- move_leases: deadlines
UPDATE lease SET deadline_at = deadline_at + ?

-- move_later: what comes back at a time
UPDATE later SET due_at = due_at + ?

-- move_runs: since when a run is running
UPDATE run SET resumed_at = resumed_at + ?

-- open_lanes: gates are looked at anew
UPDATE lane SET wake_at = NULL WHERE wake_at IS NOT NULL
