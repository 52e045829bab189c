-- find_host__many: id of a host, for many
SELECT id, name FROM host WHERE name = ANY (?::text[])

-- add_host__many: add a host, for many
INSERT INTO host (name, domain) SELECT * FROM unnest(?::text[], ?::text[]) ON CONFLICT DO NOTHING

-- gate: the state of a gate, with the settings of the strictest run registered there. Only the frontier knows the
-- last slot, so this is the last request that was sent or leased, whose lease lasts a minute.
SELECT greatest(coalesce((SELECT max(at) FROM send WHERE host_id = h.id), 0),
                coalesce((SELECT max(deadline_at) - 60 FROM lease WHERE host_id = h.id), 0)), h.turn, h.held_until, h.robots_s, h.adaptive_s, h.operator_s, coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), max(r.gate_s), 0),
       h.openings, h.domain, coalesce(min(r.per_host), 1), min(r.per_domain), h.name, h.hold_reason
FROM host h
LEFT JOIN lane l ON l.host_id = h.id
LEFT JOIN run r ON r.id = l.run_id AND r.state IN ('running', 'stopping', 'paused')
WHERE h.id = ? GROUP BY h.id

-- own_gate: the delays and the hold at a host that apply to one run alone, and its last request. Only the frontier
-- knows its last slot.
SELECT CASE WHEN r.delay_s > r.gate_s THEN r.delay_s ELSE 0 END, coalesce(g.delay_s, 0),
       coalesce(g.held_until, 0), coalesce(g.hold_reason, ''), coalesce(g.owner, ''),
       coalesce((SELECT max(at) FROM (SELECT at, run_id FROM send WHERE host_id = ?2 ORDER BY at DESC LIMIT 1000) AS last
                 WHERE run_id = ?1), 0)
FROM run r
LEFT JOIN task t ON t.id = r.task_id
LEFT JOIN owner_gate g ON g.owner = t.owner AND g.host_id = ?2
WHERE r.id = ?1

-- hold: hold a host; a hold is never shortened
UPDATE host SET hold_reason = CASE WHEN ?1::float8 > held_until THEN ?2 ELSE hold_reason END,
                held_until = greatest(held_until, ?1),
                changed_at = greatest(extract(epoch FROM clock_timestamp())::float8, changed_at + 0.000001)
WHERE id = ?3

-- resume: end a hold and reset the adaptive delay
UPDATE host SET held_until = 0, hold_reason = '', adaptive_s = 0, failures = 0, openings = 0,
                changed_at = greatest(extract(epoch FROM clock_timestamp())::float8, changed_at + 0.000001)
WHERE id = ?

-- slow: set the operator's delay
UPDATE host SET operator_s = ?,
                changed_at = greatest(extract(epoch FROM clock_timestamp())::float8, changed_at + 0.000001)
WHERE id = ?

-- set_health: set the health of a host
UPDATE host SET adaptive_s = ?, failures = ?, openings = ?, slowed_at = ?, has_answered = ?,
                changed_at = greatest(extract(epoch FROM clock_timestamp())::float8, changed_at + 0.000001)
WHERE id = ?

-- set_crawl_delay: set the longest Crawl-delay of a host's robots.txt files
UPDATE host SET robots_s = (SELECT max(delay_s) FROM robots WHERE host_id = ?1),
                changed_at = greatest(extract(epoch FROM clock_timestamp())::float8, changed_at + 0.000001)
WHERE id = ?1

-- health__many: the health of a host, for many
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host
WHERE name = ANY (?::text[])

-- health_now__many: the same for a host that will change, locked, for many
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host
WHERE id = ANY (?::bigint[]) ORDER BY id FOR NO KEY UPDATE
