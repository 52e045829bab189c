-- add_worker: add a worker
INSERT INTO worker (name, node, pid, version, slots, cpus, is_elastic, capabilities, joined_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9) RETURNING id

-- remove_worker: delete a worker
DELETE FROM worker WHERE id = ?

-- workers: all registered workers
SELECT id, name FROM worker

-- add_lane: add the lane of a run and host
INSERT INTO lane (run_id, host_id) VALUES (?, ?) ON CONFLICT DO NOTHING

-- find_lane: id of a lane
SELECT id FROM lane WHERE host_id = ? AND run_id = ?

-- enqueue: add a request to its lane
INSERT INTO queue (lane_id, rank, url_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING

-- lane_grew: add to the length of a lane, with the best rank of the added requests
UPDATE lane SET rank = CASE WHEN queued = 0 THEN ?2 ELSE min(rank, ?2) END, queued = queued + ?1 WHERE id = ?3

-- lane_shrank: subtract from the length of a lane, and look up its best rank
UPDATE lane SET queued = queued - ?1,
       rank = coalesce((SELECT rank FROM queue WHERE lane_id = ?2 ORDER BY rank LIMIT 1), 0)
WHERE id = ?2

-- lane_served: set the service count of a lane
UPDATE lane SET served = ? WHERE id = ?

-- wake_lanes: open lanes whose host may be open again
UPDATE lane SET wake_at = NULL
WHERE run_id IN (SELECT value FROM json_each(?)) AND queued > 0 AND wake_at <= ?

-- due_later: due requests
SELECT later.run_id, later.url_id, url.host_id, -url.priority FROM later JOIN url ON url.id = later.url_id
WHERE later.run_id IN (SELECT value FROM json_each(?)) AND later.due_at <= ? AND NOT later.is_alone LIMIT 500

-- drop_later: delete a waiting request
DELETE FROM later WHERE url_id = ?

-- put_later: add a request that is due later
INSERT INTO later (url_id, run_id, due_at, is_alone) VALUES (?, ?, ?, ?)
ON CONFLICT (url_id) DO UPDATE SET due_at = excluded.due_at, is_alone = excluded.is_alone

-- with_suspects: runs with requests that are leased alone
SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM later WHERE run_id = value AND is_alone)

-- rest: close a lane until a moment, for its run alone
UPDATE lane SET wake_at = ?1 WHERE id = ?2

-- set_own_slot: set the end of the last slot of a lane; 0: it was not used
UPDATE lane SET sent_until = ?1 WHERE host_id = ?2 AND run_id = ?3 AND sent_until <> ?1

-- own_slot: the end of its last slot
SELECT sent_until FROM lane WHERE host_id = ? AND run_id = ?

-- due_suspects: requests that are leased alone, one per host
SELECT min(later.url_id), url.host_id FROM later JOIN url ON url.id = later.url_id
WHERE later.run_id = ? AND later.due_at <= ? AND later.is_alone GROUP BY url.host_id

-- open_lanes: non-empty lanes of a run whose gate seems open, best first
SELECT id, host_id, queued, served, sent_until FROM lane
WHERE run_id = ? AND queued > 0 AND wake_at IS NULL ORDER BY rank LIMIT ?

-- ahead_lanes: non-empty closed lanes of a run that open by a moment, the first ones first
SELECT id, host_id, queued, served FROM lane
WHERE run_id = ? AND queued > 0 AND wake_at <= ? ORDER BY wake_at LIMIT ?

-- queues_at: number of runs that queue for a host
SELECT count(*) FROM lane WHERE host_id = ? AND queued > 0

-- hungrier: lanes of other runs at this host that were served less, have leasing workers and may take more now
SELECT 1 FROM lane l JOIN run r ON r.id = l.run_id
WHERE l.host_id = ?1 AND l.run_id <> ?2 AND l.queued > 0 AND r.state = 'running'
  AND max(l.served, ?5) + 0.999 < ?3 AND r.asked_at > ?4
  AND (l.sent_until = 0 OR r.delay_s <= r.gate_s OR l.sent_until + r.delay_s <= ?6)
  AND NOT EXISTS (SELECT 1 FROM task t JOIN owner_gate g ON g.owner = t.owner
                  WHERE t.id = r.task_id AND g.host_id = ?1 AND max(g.held_until, l.sent_until + g.delay_s) > ?6)
  AND (SELECT count(*) FROM lease WHERE run_id = r.id) < r.concurrency LIMIT 1

-- asked: record that a worker leases for runs
UPDATE run SET asked_at = ?1 WHERE id IN (SELECT value FROM json_each(?2)) AND asked_at < ?1 - 0.05

-- runnable: the columns of runs that leasing reads
SELECT id, state, needs, cookie_version, weight, concurrency - (SELECT count(*) FROM lease WHERE run_id = run.id),
       CASE WHEN delay_s > gate_s THEN delay_s ELSE 0.0 END,
       (SELECT json_group_object(g.host_id, json_object('delay_s', g.delay_s, 'held_until', g.held_until))
        FROM task t JOIN owner_gate g ON g.owner = t.owner WHERE t.id = run.task_id HAVING count(*) > 0)
FROM run
WHERE id IN (SELECT value FROM json_each(?))

-- held_by: leases of a worker by run
SELECT run_id, count(*) FROM lease WHERE worker_id = ? GROUP BY run_id

-- with_open_lanes: runs with work whose gate seems open
SELECT value FROM json_each(?)
WHERE EXISTS (SELECT 1 FROM lane WHERE run_id = value AND queued > 0 AND wake_at IS NULL)

-- head: the best requests of a lane
SELECT q.url_id, q.rank, u.host_id, u.attempts, u.returns, u.visit, u.url, u.fingerprint, u.page, u.priority, u.depth,
       u.is_entry, u.extras, (SELECT p.url FROM url p WHERE p.id = u.parent_id), u.is_next_page
FROM queue q JOIN url u ON u.id = q.url_id WHERE q.lane_id = ? ORDER BY q.rank, q.url_id LIMIT ?

-- single: a request by its row
SELECT u.id, -u.priority, u.host_id, u.attempts, u.returns, u.visit, u.url, u.fingerprint, u.page, u.priority, u.depth,
       u.is_entry, u.extras, (SELECT p.url FROM url p WHERE p.id = u.parent_id), u.is_next_page
FROM url u WHERE u.id = ?

-- place: the queue position of a row
SELECT host_id, -priority FROM url WHERE id = ?

-- dequeue: remove a request from its lane
DELETE FROM queue WHERE lane_id = ? AND rank = ? AND url_id = ?

-- next_tokens: reserve fencing tokens
UPDATE meta SET value = value + ? WHERE name = 'token' RETURNING value

-- epoch: the epoch of the tokens
SELECT value FROM meta WHERE name = 'epoch'

-- add_lease: add a lease
INSERT INTO lease (url_id, token, run_id, host_id, worker_id, deadline_at, is_alone) VALUES (?, ?, ?, ?, ?, ?, ?)

-- renew: renew a lease that is still held
UPDATE lease SET deadline_at = ?1 WHERE url_id = ?2 AND token = ?3 RETURNING url_id

-- drop_lease: delete a lease, whichever worker holds it
DELETE FROM lease WHERE url_id = ? RETURNING token

-- drop_own_lease: delete a lease if it is still the current one
DELETE FROM lease WHERE url_id = ? AND token = ? RETURNING host_id, is_alone

-- holds_suspect: whether a worker holds a request that is leased alone
SELECT 1 FROM lease WHERE worker_id = ? AND is_alone

-- leases_of: leases of a worker
SELECT count(*) FROM lease WHERE worker_id = ?

-- leases_of_all: leases of a worker, one by one
SELECT url_id, token FROM lease WHERE worker_id = ?

-- has_late: whether a lease is past its deadline
SELECT 1 FROM lease WHERE deadline_at <= ? LIMIT 1

-- lost_leases: leases past their deadline, or of dead workers
SELECT url_id, token, run_id, worker_id, is_alone FROM lease
WHERE deadline_at <= ?1 OR worker_id IN (SELECT value FROM json_each(?2))

-- count_return: count a returned lease
UPDATE url SET returns = returns + 1, lone_returns = lone_returns + ?2 WHERE id = ?1
RETURNING returns, lone_returns, state, host_id, priority

-- is_live: whether a request is queued, waiting or leased
SELECT EXISTS (SELECT 1 FROM lease WHERE url_id = ?1) OR EXISTS (SELECT 1 FROM later WHERE url_id = ?1)
    OR EXISTS (SELECT 1 FROM queue JOIN lane ON lane.id = queue.lane_id
               WHERE lane.host_id = ?2 AND lane.run_id = ?4 AND queue.lane_id = lane.id
                 AND queue.rank = ?3 AND queue.url_id = ?1)

-- open_row: an open row for offering
SELECT id, host_id, -priority FROM url WHERE id = ? AND state = 'open'

-- next_wake: when a closed lane of runs may open, after a moment
SELECT min((SELECT min(wake_at) FROM lane WHERE run_id = value AND queued > 0 AND wake_at > ?2))
FROM json_each(?1)

-- next_due: when a waiting request of runs is due
SELECT min((SELECT min(due_at) FROM later WHERE run_id = value AND due_at > ?2)) FROM json_each(?1)

-- leased: leased requests of a run
SELECT url_id FROM lease WHERE run_id = ?

-- fence: invalidate a lease, which still counts at its host until it ends
UPDATE lease SET token = ? WHERE url_id = ?

-- open_gates: open the lanes at all hosts of a run, so that their gates are read again
UPDATE lane SET wake_at = NULL
WHERE wake_at IS NOT NULL AND host_id IN (SELECT host_id FROM lane WHERE run_id = ?)

-- empty_lanes: delete the queues of a run
DELETE FROM queue WHERE lane_id IN (SELECT id FROM lane WHERE run_id = ?)

-- holds: whether a lease is the current one of its row
SELECT 1 FROM lease WHERE url_id = ? AND token = ?

-- drop_lanes: delete empty lanes of a run
DELETE FROM lane WHERE run_id = ?

-- drop_laters: delete waiting requests of a run
DELETE FROM later WHERE run_id = ?

-- empty_lane: delete the queue of a lane
DELETE FROM queue WHERE lane_id = ?

-- lane_emptied: set its length
UPDATE lane SET queued = 0 WHERE id = ?

-- live_count: number of requests of a run in the frontier
SELECT coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL), 0)
     + coalesce((SELECT sum(queued) FROM lane WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL), 0)
     + (SELECT count(*) FROM later WHERE run_id = ?1)
     + (SELECT count(*) FROM lease WHERE run_id = ?1)

-- open_count: number of open requests of a run, by its counters
SELECT total - done - redirect - missing - skipped - dead - broken FROM run WHERE id = ?

-- open_rows: ids of open rows
SELECT id FROM url WHERE run_id = ? AND state = 'open' AND id > ? ORDER BY id LIMIT ?
