-- add_worker: a worker comes
INSERT INTO worker (name, node, pid, version, slots, cpus, is_elastic, capabilities, joined_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9) RETURNING id

-- remove_worker: a worker leaves
DELETE FROM worker WHERE id = ?

-- workers: everyone who came and has not left
SELECT id, name FROM worker

-- add_lane: the queue of a run for a host
INSERT INTO lane (run_id, host_id) VALUES (?, ?) ON CONFLICT DO NOTHING

-- find_lane: id of a lane
SELECT id FROM lane WHERE host_id = ? AND run_id = ?

-- enqueue: a request waits in its lane
INSERT INTO queue (lane_id, rank, url_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING

-- lane_grew: a lane has this many more, the best of them with this rank
UPDATE lane SET rank = CASE WHEN queued = 0 THEN ?2 ELSE min(rank, ?2) END, queued = queued + ?1 WHERE id = ?3

-- lane_shrank: a lane lost requests; its best is looked up again
UPDATE lane SET queued = queued - ?1,
       rank = coalesce((SELECT rank FROM queue WHERE lane_id = ?2 ORDER BY rank LIMIT 1), 0)
WHERE id = ?2

-- lane_served: a lane had its turn
UPDATE lane SET served = ? WHERE id = ?

-- wake_lanes: lanes whose host may be open again
UPDATE lane SET wake_at = NULL
WHERE run_id IN (SELECT value FROM json_each(?)) AND queued > 0 AND wake_at <= ?

-- due_later: requests whose time has come
SELECT later.run_id, later.url_id, url.host_id, -url.priority FROM later JOIN url ON url.id = later.url_id
WHERE later.run_id IN (SELECT value FROM json_each(?)) AND later.due_at <= ? AND NOT later.is_alone LIMIT 500

-- drop_later: a request waits no more
DELETE FROM later WHERE url_id = ?

-- put_later: a request comes back at a time
INSERT INTO later (url_id, run_id, due_at, is_alone) VALUES (?, ?, ?, ?)
ON CONFLICT (url_id) DO UPDATE SET due_at = excluded.due_at, is_alone = excluded.is_alone

-- with_suspects: runs with requests that must be tried alone
SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM later WHERE run_id = value AND is_alone)

-- due_suspects: requests that must be tried alone, one per host
SELECT min(later.url_id), url.host_id FROM later JOIN url ON url.id = later.url_id
WHERE later.run_id = ? AND later.due_at <= ? AND later.is_alone GROUP BY url.host_id

-- open_lanes: lanes of a run with work and, as far as known, an open gate; best first
SELECT id, host_id, queued, served FROM lane
WHERE run_id = ? AND queued > 0 AND wake_at IS NULL ORDER BY rank LIMIT ?

-- hungrier: lanes of other runs at this host that had less, whose workers are asking and may take more
SELECT 1 FROM lane l JOIN run r ON r.id = l.run_id
WHERE l.host_id = ?1 AND l.run_id <> ?2 AND l.queued > 0 AND r.state = 'running'
  AND max(l.served, ?5) + 0.999 < ?3 AND r.asked_at > ?4
  AND (SELECT count(*) FROM lease WHERE run_id = r.id) < r.concurrency LIMIT 1

-- asked: a worker asks for work of runs
UPDATE run SET asked_at = ?1 WHERE id IN (SELECT value FROM json_each(?2)) AND asked_at < ?1 - 0.05

-- runnable: what leasing needs to know of runs
SELECT id, state, needs, weight, concurrency - (SELECT count(*) FROM lease WHERE run_id = run.id) FROM run
WHERE id IN (SELECT value FROM json_each(?))

-- held_by: what a worker holds of each run
SELECT run_id, count(*) FROM lease WHERE worker_id = ? GROUP BY run_id

-- with_open_lanes: runs that have work and, as far as known, an open gate for it
SELECT value FROM json_each(?)
WHERE EXISTS (SELECT 1 FROM lane WHERE run_id = value AND queued > 0 AND wake_at IS NULL)

-- head: the best requests of a lane
SELECT q.url_id, q.rank, u.host_id, u.attempts, u.returns, u.visit, u.url, u.fingerprint, u.page, u.priority, u.depth,
       u.is_entry, u.extras, (SELECT p.url FROM url p WHERE p.id = u.parent_id)
FROM queue q JOIN url u ON u.id = q.url_id WHERE q.lane_id = ? ORDER BY q.rank, q.url_id LIMIT ?

-- single: one request by its row
SELECT u.id, -u.priority, u.host_id, u.attempts, u.returns, u.visit, u.url, u.fingerprint, u.page, u.priority, u.depth,
       u.is_entry, u.extras, (SELECT p.url FROM url p WHERE p.id = u.parent_id)
FROM url u WHERE u.id = ?

-- place: where a row would be queued
SELECT host_id, -priority FROM url WHERE id = ?

-- dequeue: a request leaves its lane
DELETE FROM queue WHERE lane_id = ? AND rank = ? AND url_id = ?

-- next_tokens: reserve fencing tokens
UPDATE meta SET value = value + ? WHERE name = 'token' RETURNING value

-- epoch: the era of the tokens
SELECT value FROM meta WHERE name = 'epoch'

-- add_lease: a request is in a worker's hands
INSERT INTO lease (url_id, token, run_id, host_id, worker_id, deadline_at, is_alone) VALUES (?, ?, ?, ?, ?, ?, ?)

-- renew: keep a lease that is still held
UPDATE lease SET deadline_at = ?1 WHERE url_id = ?2 AND token = ?3 RETURNING url_id

-- drop_lease: a lease ends, whoever holds it
DELETE FROM lease WHERE url_id = ? RETURNING token

-- drop_own_lease: a lease ends if it is still this one
DELETE FROM lease WHERE url_id = ? AND token = ? RETURNING host_id, is_alone

-- holds_suspect: whether a worker has a request that must be alone
SELECT 1 FROM lease WHERE worker_id = ? AND is_alone

-- leases_of: what a worker holds
SELECT count(*) FROM lease WHERE worker_id = ?

-- leases_of_all: what a worker holds, one by one
SELECT url_id, token FROM lease WHERE worker_id = ?

-- has_late: whether a lease is past its deadline
SELECT 1 FROM lease WHERE deadline_at <= ? LIMIT 1

-- lost_leases: past their deadline, or in the hands of the dead
SELECT url_id, token, run_id, worker_id, is_alone FROM lease
WHERE deadline_at <= ?1 OR worker_id IN (SELECT value FROM json_each(?2))

-- count_return: a request came back with its worker lost
UPDATE url SET returns = returns + 1, lone_returns = lone_returns + ?2 WHERE id = ?1
RETURNING returns, lone_returns, state, host_id, priority

-- is_live: whether a request is queued, waiting or leased
SELECT EXISTS (SELECT 1 FROM lease WHERE url_id = ?1) OR EXISTS (SELECT 1 FROM later WHERE url_id = ?1)
    OR EXISTS (SELECT 1 FROM queue JOIN lane ON lane.id = queue.lane_id
               WHERE lane.host_id = ?2 AND lane.run_id = ?4 AND queue.lane_id = lane.id
                 AND queue.rank = ?3 AND queue.url_id = ?1)

-- open_row: an open row as offering needs it
SELECT id, host_id, -priority FROM url WHERE id = ? AND state = 'open'

-- next_wake: when a closed lane of runs may open
SELECT min((SELECT min(wake_at) FROM lane WHERE run_id = value AND queued > 0 AND wake_at IS NOT NULL))
FROM json_each(?)

-- next_due: when a waiting request of runs comes back
SELECT min((SELECT min(due_at) FROM later WHERE run_id = value AND due_at > ?2)) FROM json_each(?1)

-- leased: requests of a run that are in a worker's hands
SELECT url_id FROM lease WHERE run_id = ?

-- fence: whoever holds a lease holds it no more, though it counts at its host until it is over
UPDATE lease SET token = ? WHERE url_id = ?

-- open_gates: the lanes at all hosts of a run look at their gates anew
UPDATE lane SET wake_at = NULL
WHERE wake_at IS NOT NULL AND host_id IN (SELECT host_id FROM lane WHERE run_id = ?)

-- empty_lanes: the frontier forgets a run
DELETE FROM queue WHERE lane_id IN (SELECT id FROM lane WHERE run_id = ?)

-- holds: whether a lease is the one that holds its row
SELECT 1 FROM lease WHERE url_id = ? AND token = ?

-- drop_lanes: the lanes of a run that are empty now
DELETE FROM lane WHERE run_id = ?

-- drop_laters: what of a run would come back
DELETE FROM later WHERE run_id = ?

-- empty_lane: nothing waits in a lane any more
DELETE FROM queue WHERE lane_id = ?

-- lane_emptied: and it knows
UPDATE lane SET queued = 0 WHERE id = ?
