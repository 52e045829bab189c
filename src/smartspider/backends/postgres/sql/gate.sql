-- find_host__many: ids of hosts
SELECT id, name FROM host WHERE name = ANY (?::text[])

-- add_host__many: hosts seen for the first time
INSERT INTO host (name, domain) SELECT * FROM unnest(?::text[], ?::text[]) ON CONFLICT DO NOTHING

-- gate: what the gate of a host is made of; the strictest of the runs that stand at it counts. The last slot is
-- known to the frontier: here it is the last request that left or was handed out, whose lease is for a minute.
SELECT greatest(coalesce((SELECT max(at) FROM send WHERE host_id = h.id), 0),
                coalesce((SELECT max(deadline_at) - 60 FROM lease WHERE host_id = h.id), 0)), h.turn, h.held_until, h.robots_s, h.adaptive_s, h.operator_s, coalesce(max(r.delay_s), 0),
       h.openings, h.domain, coalesce(min(r.per_host), 1), min(r.per_domain)
FROM host h
LEFT JOIN lane l ON l.host_id = h.id
LEFT JOIN run r ON r.id = l.run_id AND r.state IN ('running', 'stopping', 'paused')
WHERE h.id = ? GROUP BY h.id

-- hold: send nothing before this; a hold is never shortened
UPDATE host SET hold_reason = CASE WHEN ?1::float8 > held_until THEN ?2 ELSE hold_reason END,
                held_until = greatest(held_until, ?1)
WHERE id = ?3

-- trouble__many: what answers of hosts led to
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host
WHERE name = ANY (?::text[])

-- trouble_now__many: the same of those that will change, and nobody else changes them meanwhile
SELECT id, name, adaptive_s, failures, openings, held_until, slowed_at, has_answered FROM host
WHERE id = ANY (?::bigint[]) ORDER BY id FOR NO KEY UPDATE
