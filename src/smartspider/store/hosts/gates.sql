-- find_host: id of a host
SELECT id, name FROM host WHERE name = ?

-- add_host: a host seen for the first time
INSERT INTO host (name, domain) VALUES (?, ?) ON CONFLICT DO NOTHING

-- gate: what the gate of a host is made of; the strictest of the runs that stand at it counts
SELECT h.sent_until, h.turn, h.held_until, h.robots_s, h.adaptive_s, h.operator_s, coalesce(max(r.delay_s), 0.0),
       h.openings, h.domain, coalesce(min(r.per_host), 1), min(r.per_domain)
FROM host h
LEFT JOIN lane l ON l.host_id = h.id
LEFT JOIN run r ON r.id = l.run_id AND r.state IN ('running', 'stopping', 'paused')
WHERE h.id = ?

-- in_flight: leases out for a host
SELECT count(*) FROM lease WHERE host_id = ?

-- in_flight_domain: leases out for all hosts of a registrable domain
SELECT count(*) FROM lease JOIN host ON host.id = lease.host_id WHERE host.domain = ?

-- reserve: the last slot ends then
UPDATE host SET sent_until = max(sent_until, ?) WHERE id = ?

-- set_turn: the lane that was served last had got so far
UPDATE host SET turn = max(turn, ?) WHERE id = ?

-- hold: send nothing before this; a hold is never shortened
UPDATE host SET hold_reason = CASE WHEN ?1 > held_until THEN ?2 ELSE hold_reason END,
                held_until = max(held_until, ?1)
WHERE id = ?3

-- resume: lift a hold and forget what made the host slow
UPDATE host SET held_until = 0, hold_reason = '', adaptive_s = 0, failures = 0, openings = 0 WHERE id = ?

-- slow: the delay that an operator asks for
UPDATE host SET operator_s = ? WHERE id = ?

-- close_lanes: all lanes of a host wait until then
UPDATE lane SET wake_at = ? WHERE host_id = ?

-- open_siblings: a place under the cap of a domain is free, and any of its hosts may take it
UPDATE lane SET wake_at = NULL WHERE host_id IN (SELECT id FROM host WHERE domain = ? AND id <> ?)

-- health: what a host's answers led to
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host WHERE name = ?

-- health_now: the same of one that will change, and nobody else changes it meanwhile
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host WHERE id = ?

-- set_health: keep what a host's answers led to
UPDATE host SET adaptive_s = ?, failures = ?, openings = ?, slowed_at = ?, has_answered = ? WHERE id = ?

-- crawl_delay: what the gate of a host knows of it
SELECT robots_s FROM host WHERE id = ?

-- set_crawl_delay: the longest that any robots.txt of a host asks for
UPDATE host SET robots_s = (SELECT max(delay_s) FROM robots WHERE host_id = ?1) WHERE id = ?1

-- get_robots: what a host said about robots
SELECT origin, status, body, fetched_at, expires_at FROM robots WHERE origin = ?

-- put_robots: keep what a host says about robots
INSERT INTO robots (origin, host_id, delay_s, status, body, fetched_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET delay_s = excluded.delay_s, status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
