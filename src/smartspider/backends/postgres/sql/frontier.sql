-- add_lane: a run stands at a host
INSERT INTO lane (run_id, host_id) VALUES (?, ?) ON CONFLICT DO NOTHING

-- drop_lanes: a run stands nowhere any more
DELETE FROM lane WHERE run_id = ?

-- postpone: a request comes back at a time
UPDATE url SET due_at = ? WHERE id = ?

-- hosts: gates as the store has them
SELECT id, name, domain, robots_s, adaptive_s, operator_s, held_until, openings FROM host WHERE id = ANY (?)
