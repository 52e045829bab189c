-- beaten: the last heartbeat of a worker, and whether it is draining
SELECT slots, cpu_s, memory, seen_at, is_draining FROM worker WHERE id = ?

-- beat: store a heartbeat
UPDATE worker SET slots = coalesce(?, slots), cpu_s = ?, memory = ?, form = ?, seen_at = ? WHERE id = ?

-- all: all registered workers
SELECT is_draining, is_elastic, capabilities, form, id, name, node, pid, version, slots, joined_at, seen_at, cpu_s, memory, cpus
FROM worker ORDER BY id

-- held: leases of workers by run and host, most first; at most as many rows as requests are in flight
SELECT lease.worker_id, lease.run_id, host.name, count(*) AS held
FROM lease JOIN host ON host.id = lease.host_id
GROUP BY lease.worker_id, lease.run_id, lease.host_id ORDER BY held DESC, host.name

-- drain: drain the workers of a node, or one of them
UPDATE worker SET is_draining = 1 WHERE node = ?1 AND (?2 IS NULL OR id = ?2) AND NOT is_draining RETURNING name

-- tune: set the slots of the workers of a node, or of one of them
UPDATE worker SET slots = ?3 WHERE node = ?1 AND id = coalesce(?2, id) RETURNING name
