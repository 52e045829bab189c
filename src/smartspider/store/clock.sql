-- read: how store time is computed, and the wall clock that is not believed
SELECT shift_s, boot, slept_s, ahead_s, since, steps, returns FROM clock

-- doubt: remember a wall clock that is not believed
UPDATE clock SET ahead_s = ?, since = ?

-- agree: forget it, since both agree again
UPDATE clock SET ahead_s = NULL, since = NULL

-- set: set how store time is computed
UPDATE clock SET shift_s = ?, boot = ?, slept_s = ?, ahead_s = NULL, since = NULL

-- count_step: count a step of store time, and whether it went back
UPDATE clock SET steps = steps + 1, returns = returns + ?

-- move_hosts: move the last slot and the hold of every host along with a step
UPDATE host SET sent_until = sent_until + ?1, held_until = held_until + ?1, slowed_at = slowed_at + ?1

-- move_runs: move the times from which runs measure
UPDATE run SET resumed_at = resumed_at + ?1, told_at = told_at + ?1, asked_at = asked_at + ?1,
               point_at = point_at + ?1
WHERE resumed_at IS NOT NULL OR told_at > 0

-- move_notifications: move the due times of notifications
UPDATE notification SET due_at = due_at + ? WHERE due_at IS NOT NULL

-- move_workers: move the signs of life of workers
UPDATE worker SET seen_at = seen_at + ?1, joined_at = joined_at + ?1

-- end_term: end the leader's term, which measures by the time before
UPDATE leader SET owner = '', until = 0
