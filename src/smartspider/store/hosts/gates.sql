-- find_host: id of a host
SELECT id, name FROM host WHERE name = ?

-- add_host: add a host
INSERT INTO host (name, domain) VALUES (?, ?) ON CONFLICT DO NOTHING

-- gate: the state of a gate, with the settings of the strictest run registered there
SELECT h.sent_until, h.turn, h.held_until, h.robots_s, h.adaptive_s, h.operator_s, coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), max(r.gate_s), 0.0),
       h.openings, h.domain, coalesce(min(r.per_host), 1), min(r.per_domain), h.name, h.hold_reason
FROM host h
LEFT JOIN lane l ON l.host_id = h.id
LEFT JOIN run r ON r.id = l.run_id AND r.state IN ('running', 'stopping', 'paused')
WHERE h.id = ?

-- in_flight: leases of a host
SELECT count(*) FROM lease WHERE host_id = ?

-- in_flight_domain: leases of all hosts of a registrable domain
SELECT count(*) FROM lease JOIN host ON host.id = lease.host_id WHERE host.domain = ?

-- has_queued: whether a running run has requests queued for a host
SELECT 1 FROM lane JOIN run ON run.id = lane.run_id
WHERE lane.host_id = ? AND lane.queued > 0 AND run.state = 'running' LIMIT 1

-- reserve: set the end of the last slot
UPDATE host SET sent_until = max(sent_until, ?) WHERE id = ?

-- set_turn: set the service count of the lane that was served last
UPDATE host SET turn = max(turn, ?) WHERE id = ?

-- hold: hold a host; a hold is never shortened
UPDATE host SET hold_reason = CASE WHEN ?1 > held_until THEN ?2 ELSE hold_reason END,
                held_until = max(held_until, ?1)
WHERE id = ?3

-- resume: end a hold and reset the adaptive delay
UPDATE host SET held_until = 0, hold_reason = '', adaptive_s = 0, failures = 0, openings = 0 WHERE id = ?

-- slow: set the operator's delay
UPDATE host SET operator_s = ? WHERE id = ?

-- own_gate: the delays and the hold at a host that apply to one run alone, and the end of its last slot
SELECT CASE WHEN r.delay_s > r.gate_s THEN r.delay_s ELSE 0.0 END, coalesce(g.delay_s, 0.0),
       coalesce(g.held_until, 0.0), coalesce(g.hold_reason, ''), coalesce(g.owner, ''),
       coalesce((SELECT sent_until FROM lane WHERE host_id = ?2 AND run_id = ?1), 0.0)
FROM run r
LEFT JOIN task t ON t.id = r.task_id
LEFT JOIN owner_gate g ON g.owner = t.owner AND g.host_id = ?2
WHERE r.id = ?1

-- hold_own: hold a host for the runs of a user; a hold is never shortened
INSERT INTO owner_gate (owner, host_id, held_until, hold_reason) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (owner, host_id) DO UPDATE
SET hold_reason = CASE WHEN excluded.held_until > owner_gate.held_until THEN excluded.hold_reason
                       ELSE owner_gate.hold_reason END,
    held_until = CASE WHEN excluded.held_until > owner_gate.held_until THEN excluded.held_until
                      ELSE owner_gate.held_until END

-- resume_own: end the hold of a user
UPDATE owner_gate SET held_until = 0, hold_reason = '' WHERE owner = ? AND host_id = ?

-- slow_own: set the delay for the runs of a user
INSERT INTO owner_gate (owner, host_id, delay_s) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, host_id) DO UPDATE SET delay_s = excluded.delay_s

-- drop_own: delete what a user no longer holds or slows down
DELETE FROM owner_gate WHERE owner = ?1 AND delay_s <= 0 AND held_until <= ?2

-- count_own: hosts that a user holds or slows down
SELECT count(*) FROM owner_gate WHERE owner = ?

-- close_lanes: close all lanes of a host until a moment
UPDATE lane SET wake_at = ? WHERE host_id = ?

-- open_siblings: open the lanes of a domain's hosts, since a slot under its limit is free
UPDATE lane SET wake_at = NULL WHERE host_id IN (SELECT id FROM host WHERE domain = ? AND id <> ?)

-- health: the health of a host
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host WHERE name = ?

-- health_now: the same for a host that will change, locked
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host WHERE id = ?

-- set_health: set the health of a host
UPDATE host SET adaptive_s = ?, failures = ?, openings = ?, slowed_at = ?, has_answered = ? WHERE id = ?

-- crawl_delay: the Crawl-delay of a gate
SELECT robots_s FROM host WHERE id = ?

-- set_crawl_delay: set the longest Crawl-delay of a host's robots.txt files
UPDATE host SET robots_s = (SELECT max(delay_s) FROM robots WHERE host_id = ?1) WHERE id = ?1

-- get_robots: the robots.txt of an origin
SELECT origin, status, body, fetched_at, expires_at FROM robots WHERE origin = ?

-- put_robots: store a robots.txt
INSERT INTO robots (origin, host_id, delay_s, status, body, fetched_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET delay_s = excluded.delay_s, status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
