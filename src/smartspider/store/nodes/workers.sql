-- beaten: what a worker said last, and whether it is asked to leave
SELECT slots, cpu_s, memory, seen_at, is_draining FROM worker WHERE id = ?

-- beat: what a worker says of itself
UPDATE worker SET slots = coalesce(?, slots), cpu_s = ?, memory = ?, form = ?, seen_at = ? WHERE id = ?

-- all: everyone who came and has not left
SELECT is_draining, is_elastic, capabilities, form, id, name, node, pid, version, slots, joined_at, seen_at, cpu_s, memory, cpus
FROM worker ORDER BY id

-- held: what workers hold, by run and host, most first; as many rows as requests are in flight at most
SELECT lease.worker_id, lease.run_id, host.name, count(*) AS held
FROM lease JOIN host ON host.id = lease.host_id
GROUP BY lease.worker_id, lease.run_id, lease.host_id ORDER BY held DESC, host.name

-- drain: ask those of a node, or one of them, that are not asked yet
UPDATE worker SET is_draining = 1 WHERE node = ?1 AND (?2 IS NULL OR id = ?2) AND NOT is_draining RETURNING name

-- tune: give those of a node, or one of them, another number of slots
UPDATE worker SET slots = ?3 WHERE node = ?1 AND id = coalesce(?2, id) RETURNING name
