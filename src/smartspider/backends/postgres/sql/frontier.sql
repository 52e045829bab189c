-- add_lane: register a run at a host
INSERT INTO lane (run_id, host_id) VALUES (?, ?) ON CONFLICT DO NOTHING

-- add_lane__many: register a run at hosts
INSERT INTO lane (run_id, host_id) SELECT * FROM unnest(?::bigint[], ?::bigint[]) ON CONFLICT DO NOTHING

-- drop_lanes: remove a run from all hosts
DELETE FROM lane WHERE run_id = ?

-- postpone: set when a request is due
UPDATE url SET due_at = ? WHERE id = ?

-- postpone__many: set when requests are due
UPDATE url SET due_at = later.due_at FROM unnest(?::float8[], ?::bigint[]) AS later (due_at, id)
WHERE url.id = later.id

-- hosts: gates by id
SELECT id, name, domain, robots_s, adaptive_s, operator_s, held_until, openings, changed_at FROM host WHERE id = ANY (?)

-- requests: open rows for leases; `coalesce` makes the planner use the primary key
SELECT u.id, u.attempts, u.returns, u.visit, r.cookie_version, u.url, u.fingerprint, u.page, u.priority, u.depth, u.is_entry, u.extras, p.url,
    u.is_next_page
FROM url u JOIN run r ON r.id = u.run_id LEFT JOIN url p ON p.id = u.parent_id
WHERE u.id = ANY (?) AND coalesce(u.state, '') = 'open' AND r.state NOT IN ('completed', 'failed', 'cancelled')

-- places: queue positions of open rows
SELECT u.id, h.name, -u.priority, coalesce(u.due_at, 0), u.returns
FROM url u JOIN run r ON r.id = u.run_id JOIN host h ON h.id = u.host_id
WHERE u.id = ANY (?) AND coalesce(u.state, '') = 'open' AND r.state NOT IN ('completed', 'failed', 'cancelled') ORDER BY u.id

-- open_children: queue positions of open rows found on closed ones, directly or by a redirect
SELECT u.id, h.name, -u.priority, coalesce(u.due_at, 0), u.returns
FROM url u JOIN run r ON r.id = u.run_id JOIN host h ON h.id = u.host_id
WHERE u.parent_id = ANY (ARRAY(SELECT id FROM url WHERE id = ANY (?1) AND state <> 'open'
                               UNION SELECT target_id FROM url WHERE id = ANY (?1) AND target_id IS NOT NULL))
  AND u.state = 'open' AND r.state NOT IN ('completed', 'failed', 'cancelled') ORDER BY u.id

-- places_after: queue positions of open rows of a run, by cursor
SELECT u.id, h.name, -u.priority, coalesce(u.due_at, 0), u.returns
FROM (SELECT id, host_id, priority, due_at, returns FROM url
      WHERE run_id = ?1 AND state = 'open' AND id > ?2 ORDER BY id LIMIT ?3) u
JOIN host h ON h.id = u.host_id
WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1 AND state NOT IN ('completed', 'failed', 'cancelled')) ORDER BY u.id

-- heads: the best rows of lanes that may be leased now, then as many of those that are due first
SELECT u.id, h.name, -u.priority, coalesce(u.due_at, 0), u.returns
FROM host h CROSS JOIN LATERAL (
    (SELECT id, priority, due_at, returns, 0 AS is_later, -priority AS place FROM url
     WHERE run_id = ?1 AND host_id = h.id AND state = 'open' AND (due_at IS NULL OR due_at <= ?3)
     ORDER BY priority DESC, id LIMIT ?4)
    UNION ALL
    (SELECT id, priority, due_at, returns, 1, due_at FROM url
     WHERE run_id = ?1 AND host_id = h.id AND state = 'open' AND due_at > ?3 ORDER BY due_at LIMIT ?4)) u
WHERE h.name = ANY (?2::text[])
  AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND state NOT IN ('completed', 'failed', 'cancelled'))
ORDER BY h.id, u.is_later, u.place, u.id

-- lanes: hosts with open rows of a run, by cursor
SELECT h.name FROM lane l JOIN host h ON h.id = l.host_id
WHERE l.run_id = ?1 AND l.host_id > coalesce((SELECT id FROM host WHERE name = ?2), 0)
  AND EXISTS (SELECT 1 FROM url WHERE run_id = ?1 AND host_id = l.host_id AND state = 'open')
  AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND state NOT IN ('completed', 'failed', 'cancelled'))
ORDER BY l.host_id LIMIT ?3

-- controls: controls of unfinished runs
SELECT id, state, weight, concurrency, gate_s, per_host, per_domain, needs,
       CASE WHEN delay_s > gate_s THEN delay_s ELSE 0 END,
       (SELECT jsonb_object_agg(h.name, jsonb_build_object('delay_s', g.delay_s, 'held_until', g.held_until))::text
        FROM task t JOIN owner_gate g ON g.owner = t.owner JOIN host h ON h.id = g.host_id WHERE t.id = run.task_id)
FROM run
WHERE state NOT IN ('completed', 'failed', 'cancelled') ORDER BY id

-- telling_hosts: gates that differ or differed from the default, by cursor
SELECT name, domain, robots_s, adaptive_s, operator_s, held_until, openings, changed_at FROM host
WHERE name > ?1 AND (changed_at > 0 OR robots_s > 0 OR adaptive_s > 0 OR operator_s > 0 OR held_until > 0 OR openings > 0)
ORDER BY name LIMIT ?2

-- changed_hosts: recently changed gates, in that order
SELECT name, domain, robots_s, adaptive_s, operator_s, held_until, openings, changed_at FROM host
WHERE changed_at > 0 AND changed_at > greatest(?::float8, extract(epoch FROM clock_timestamp())::float8 - 60)
ORDER BY changed_at LIMIT ?

-- host_row: the gate of a host
SELECT name, domain, robots_s, adaptive_s, operator_s, held_until, openings, changed_at FROM host WHERE id = ?

-- lock_runs: lock runs
SELECT id FROM run WHERE id = ANY (?) ORDER BY id FOR NO KEY UPDATE

-- count_returns: count returned leases
UPDATE url SET returns = returns + 1, lone_returns = lone_returns + back.is_alone
FROM unnest(?::bigint[], ?::bigint[]) AS back (id, is_alone)
WHERE url.id = back.id
RETURNING url.id, url.run_id, returns, lone_returns, state

-- bury: close requests that cost too many workers
UPDATE url SET state = 'dead', reason = ?, closed_at = ? WHERE id = ANY (?)

-- buried: count them
UPDATE run SET dead = dead + ?, untold = 1 WHERE id = ?

-- returned: count returns of a run
UPDATE run SET returns = returns + ?, untold = 1 WHERE id = ?

-- keep_loads: store the load of runs that are still in the state in which they were counted
INSERT INTO load (run_id, leased, queued, waiting, at)
SELECT counted.run_id, counted.leased, counted.queued, counted.waiting, ?
FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[])
    AS counted (run_id, state, leased, queued, waiting)
JOIN run ON run.id = counted.run_id AND run.state = counted.state
ORDER BY counted.run_id FOR SHARE OF run
ON CONFLICT (run_id) DO UPDATE SET leased = excluded.leased, queued = excluded.queued, waiting = excluded.waiting,
    at = excluded.at

-- drop_load: delete the load of a run
DELETE FROM load WHERE run_id = ?

-- uncounted: mark a stopping run as not counted, since it may have leases until the keeper counts again
INSERT INTO load (run_id, leased, queued, waiting, at)
SELECT id, 0, 0, 0, 0 FROM run WHERE id = ? AND state = 'stopping' ON CONFLICT (run_id) DO UPDATE SET at = 0

-- is_counted: whether a run was counted
SELECT at > 0 FROM load WHERE run_id = ?

-- add_worker: add a worker
INSERT INTO worker (name, node, pid, version, slots, cpus, is_elastic, capabilities, joined_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9) RETURNING id

-- leave: mark a worker as left
UPDATE worker SET gone_at = ? WHERE id = ? AND gone_at IS NULL

-- gone: workers that left or are silent
SELECT id, name, gone_at, is_lost FROM worker WHERE gone_at IS NOT NULL OR seen_at < ?

-- give_up: mark silent workers as lost
UPDATE worker SET gone_at = ?, is_lost = 1 WHERE gone_at IS NULL AND seen_at < ?

-- forget_workers: delete workers that can have no leases any more
DELETE FROM worker WHERE gone_at < ?

-- names: names of workers, and whether they left by themselves
SELECT id, name, gone_at IS NOT NULL AND is_lost = 0 FROM worker WHERE id = ANY (?)

-- unmirror: delete mirrored leases that a worker no longer holds
DELETE FROM lease WHERE worker_id = ? AND url_id <> ALL (?)

-- mirror: store the leases of a worker
INSERT INTO lease (url_id, token, run_id, host_id, worker_id, deadline_at, is_alone)
SELECT url.id, held.token, url.run_id, url.host_id, ?::bigint, held.deadline_at, held.is_alone
FROM unnest(?::bigint[], ?::bigint[], ?::float8[], ?::bigint[]) AS held (id, token, deadline_at, is_alone)
JOIN url ON url.id = held.id ORDER BY url.id
ON CONFLICT (url_id) DO UPDATE SET token = excluded.token, worker_id = excluded.worker_id,
    deadline_at = excluded.deadline_at, is_alone = excluded.is_alone
WHERE (lease.token, lease.worker_id, lease.deadline_at, lease.is_alone)
    <> (excluded.token, excluded.worker_id, excluded.deadline_at, excluded.is_alone)

-- unmirror_gone: delete mirrored leases of lost workers
DELETE FROM lease WHERE worker_id NOT IN (SELECT id FROM worker WHERE gone_at IS NULL)

-- installation: the owner of the frontier; a copy of the database is another one, a promoted standby is not
SELECT id || '-' || system_identifier || '-' || (SELECT oid FROM pg_database WHERE datname = current_database())
FROM installation, pg_control_system()

-- armed_process: the process of the frontier that was armed last
SELECT process FROM shard WHERE number = ?

-- arming: set it
INSERT INTO shard (number, process) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET process = excluded.process
