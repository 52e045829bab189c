-- beaten: the last heartbeat of a worker, and whether it is draining
SELECT slots, cpu_s, memory, seen_at, is_draining FROM worker WHERE id = ? AND gone_at IS NULL

-- beat: store a heartbeat; returns the reply, with the health of the workers that stay
UPDATE worker SET slots = coalesce(?1::bigint, slots), cpu_s = ?2, memory = ?3, form = ?4, seen_at = ?5
WHERE id = ?6 AND gone_at IS NULL RETURNING slots, is_draining, (
    SELECT json_object_agg(peer.id, peer.form::json)::text FROM worker AS peer
    WHERE peer.gone_at IS NULL AND peer.is_draining = 0 AND peer.seen_at >= ?7
)

-- all: all registered workers
SELECT is_draining, is_elastic, capabilities, form, id, name, node, pid, version, slots, joined_at, seen_at, cpu_s, memory, cpus
FROM worker WHERE gone_at IS NULL ORDER BY id

-- held: leases of workers by run and host, most first; at most as many rows as requests are in flight
SELECT lease.worker_id, lease.run_id, host.name, count(*) AS held
FROM lease JOIN host ON host.id = lease.host_id
GROUP BY lease.worker_id, lease.run_id, lease.host_id, host.name ORDER BY held DESC, host.name

-- drain: drain the workers of a node, or one of them
UPDATE worker SET is_draining = 1
WHERE node = ?1 AND (?2::bigint IS NULL OR id = ?2) AND is_draining = 0 AND gone_at IS NULL RETURNING name

-- tune: set the slots of the workers of a node, or of one of them
UPDATE worker SET slots = ?3 WHERE node = ?1 AND id = coalesce(?2::bigint, id) AND gone_at IS NULL RETURNING name
