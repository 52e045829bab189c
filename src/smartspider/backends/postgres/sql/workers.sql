-- beaten: what a worker said last, and whether it is asked to leave
SELECT slots, cpu_s, memory, seen_at, is_draining FROM worker WHERE id = ? AND gone_at IS NULL

-- beat: what a worker says of itself, and what it is told: also how those do that were heard of since, and stay
UPDATE worker SET slots = coalesce(?1::bigint, slots), cpu_s = ?2, memory = ?3, form = ?4, seen_at = ?5
WHERE id = ?6 AND gone_at IS NULL RETURNING slots, is_draining, (
    SELECT json_object_agg(peer.id, peer.form::json)::text FROM worker AS peer
    WHERE peer.gone_at IS NULL AND peer.is_draining = 0 AND peer.seen_at >= ?7
)

-- all: everyone who came and has not left
SELECT is_draining, is_elastic, capabilities, form, id, name, node, pid, version, slots, joined_at, seen_at, cpu_s, memory, cpus
FROM worker WHERE gone_at IS NULL ORDER BY id

-- held: what workers hold, by run and host, most first; as many rows as requests are in flight at most
SELECT lease.worker_id, lease.run_id, host.name, count(*) AS held
FROM lease JOIN host ON host.id = lease.host_id
GROUP BY lease.worker_id, lease.run_id, lease.host_id, host.name ORDER BY held DESC, host.name

-- drain: ask those of a node, or one of them, that are not asked yet
UPDATE worker SET is_draining = 1
WHERE node = ?1 AND (?2::bigint IS NULL OR id = ?2) AND is_draining = 0 AND gone_at IS NULL RETURNING name

-- tune: give those of a node, or one of them, another number of slots
UPDATE worker SET slots = ?3 WHERE node = ?1 AND id = coalesce(?2::bigint, id) AND gone_at IS NULL RETURNING name
