-- all: hosts by name
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.delay_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.name > ? ORDER BY h.name LIMIT ?

-- held: hosts held now, of which there are few
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.delay_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.held_until > 0 AND h.held_until > ? AND h.name > ? ORDER BY h.name LIMIT ?

-- by_name: a host
SELECT h.name, h.domain,
       (SELECT coalesce(max(r.delay_s), 0.0) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused')),
       h.robots_s, h.adaptive_s, h.operator_s, h.held_until, h.hold_reason, h.openings,
       (SELECT count(*) FROM lease WHERE lease.host_id = h.id),
       (SELECT count(*) FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.host_id = h.id AND r.state IN ('running', 'stopping', 'paused'))
FROM host h WHERE h.name = ?
