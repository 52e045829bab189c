-- next_number: take the number of the next event of a run
UPDATE run SET next_event = next_event + 1 WHERE id = ? RETURNING next_event - 1

-- add: add an event
INSERT INTO event (run_id, number, at, name, data) VALUES (?, ?, ?, ?, ?)

-- progress: the counters of a run that changed since the last progress event, if that is old enough
UPDATE run SET told_at = ?2, untold = 0, next_event = next_event + 1 WHERE id = ?1 AND untold <> 0 AND told_at <= ?3
RETURNING next_event - 1, state, (SELECT count(*) FROM lease WHERE run_id = ?1),
          total, done, redirect, missing, skipped, dead, broken, items, rejected, duplicates, updated, duplicate_urls,
          retries, returns, late, bytes_read, left_out, files, point_at, point_s, points

-- changed: mark the progress of a run as changed
UPDATE run SET untold = 1 WHERE id = ?

-- of_run: events of a run from a number on
SELECT id, run_id, number, at, name, data FROM event WHERE run_id = ? AND number > ? ORDER BY number LIMIT ?

-- since: events of all runs from an id on
SELECT id, run_id, number, at, name, data FROM event WHERE id > ? ORDER BY id LIMIT ?

-- last_id: the newest event
SELECT coalesce(max(id), 0) FROM event

-- first_number: the oldest stored event of a run; the next one if there is none
SELECT coalesce((SELECT number FROM event WHERE run_id = ?1 ORDER BY number LIMIT 1),
                (SELECT next_event FROM run WHERE id = ?1), 1)

-- trim: delete some thousand of the oldest events of a run, except the newest ones
DELETE FROM event WHERE id IN (
    SELECT id FROM event WHERE run_id = ?1 AND number < (SELECT next_event FROM run WHERE id = ?1) - ?2
    ORDER BY number LIMIT 5000)

-- forget: delete some thousand events of a run
DELETE FROM event WHERE id IN (SELECT id FROM event WHERE run_id = ? LIMIT 9999)

-- add_point: keep an event in the series of a run
INSERT INTO run_point (run_id, number, at, name, data) VALUES (?, ?, ?, ?, ?)

-- add_mark: keep an event that explains the series, up to a number of them
INSERT INTO run_point (run_id, number, at, name, data) SELECT ?1, ?2, ?3, ?4, ?5
WHERE (SELECT count(*) FROM run_point WHERE run_id = ?1 AND name <> 'run.progress') < ?6

-- count_point: count a point of the series
UPDATE run SET point_at = ?, points = points + 1 WHERE id = ?

-- thin: delete every other point of the series; those kept are the later ones, and counters only grow
DELETE FROM run_point WHERE run_id = ?1 AND number IN (
    SELECT number FROM (SELECT number, row_number() OVER (ORDER BY number DESC) AS place FROM run_point
                        WHERE run_id = ?1 AND name = 'run.progress') AS point WHERE place % 2 = 0)

-- thinned: double the time between two points
UPDATE run SET point_s = point_s * 2, points = (SELECT count(*) FROM run_point WHERE run_id = ?1 AND name = 'run.progress')
WHERE id = ?1

-- series: the series of a run
SELECT at, name, data FROM run_point WHERE run_id = ? ORDER BY number

-- forget_series: delete the series of a run
DELETE FROM run_point WHERE run_id = ?
