-- count: hosts with queued work of a run, open and closed ones, up to a limit each
SELECT (SELECT count(*) FROM (SELECT 1 FROM lane INDEXED BY lane_open
                              WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM lane INDEXED BY lane_closed
                              WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL LIMIT ?2))

-- looked: some of them, with the settings of the strictest run registered there
WITH some AS (
    SELECT * FROM (SELECT id, run_id, host_id, queued FROM lane INDEXED BY lane_open
                   WHERE run_id = ?1 AND queued > 0 AND wake_at IS NULL ORDER BY rank LIMIT ?2)
    UNION ALL
    SELECT * FROM (SELECT id, run_id, host_id, queued FROM lane INDEXED BY lane_closed
                   WHERE run_id = ?1 AND queued > 0 AND wake_at IS NOT NULL ORDER BY wake_at LIMIT ?3)
)
SELECT h.name, h.domain, s.queued, (SELECT count(*) FROM lease WHERE host_id = h.id),
       max(h.robots_s, h.adaptive_s, h.operator_s, 
           coalesce(max(r.gate_s) FILTER (WHERE r.delay_s <= r.gate_s), 0.0), max(CASE WHEN r.id = s.run_id THEN r.delay_s ELSE 0 END)),
       CASE WHEN h.openings > 0 THEN 1 ELSE min(r.per_host) END, min(r.per_domain),
       h.held_until > ?4 OR EXISTS (
           SELECT 1 FROM run o JOIN task t ON t.id = o.task_id JOIN owner_gate g ON g.owner = t.owner
           WHERE o.id = s.run_id AND g.host_id = h.id AND g.held_until > ?4)
FROM some s
JOIN host h ON h.id = s.host_id
JOIN lane l ON l.host_id = h.id
JOIN run r ON r.id = l.run_id AND (r.id = s.run_id OR r.state IN ('running', 'stopping', 'paused'))
GROUP BY s.id
