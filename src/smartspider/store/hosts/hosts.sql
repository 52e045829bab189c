-- all: hosts by name
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), max(r.gate_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.name > ? ORDER BY h.name LIMIT ?

-- held: hosts held now, of which there are few
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), max(r.gate_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.held_until > 0 AND h.held_until > ? AND h.name > ? ORDER BY h.name LIMIT ?

-- by_name: a host
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), max(r.gate_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.name = ?

-- own: what users set at hosts for their own runs
SELECT h.name, g.owner, g.delay_s, g.held_until, g.hold_reason FROM owner_gate g JOIN host h ON h.id = g.host_id
WHERE h.name >= ?1 AND h.name <= ?2 AND (g.delay_s > 0 OR g.held_until > ?3) ORDER BY h.name, g.owner
