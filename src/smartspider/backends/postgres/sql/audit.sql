-- head: the newest entry, and its moment
SELECT last, hash, at FROM audit_head

-- head__write: the same for who adds the next: one at a time, and by the lock that events are added under
SELECT last, hash, at FROM audit_head WHERE pg_advisory_xact_lock(7305002) IS NOT NULL FOR UPDATE

-- set_head: from now on this is the newest entry
UPDATE audit_head SET last = ?1, hash = ?2, at = (SELECT at FROM audit WHERE id = ?1)

-- after: entries in their order, as bytes
SELECT id, at, convert_to(actor, 'UTF8'), convert_to(action, 'UTF8'), convert_to(subject, 'UTF8'),
       convert_to(detail, 'UTF8'), convert_to(previous, 'UTF8'), convert_to(hash, 'UTF8')
FROM audit WHERE id > ? ORDER BY id LIMIT ?

-- before: entries from the newest on; more conditions may follow
SELECT id, at, convert_to(actor, 'UTF8'), convert_to(action, 'UTF8'), convert_to(subject, 'UTF8'),
       convert_to(detail, 'UTF8'), convert_to(previous, 'UTF8'), convert_to(hash, 'UTF8')
FROM audit WHERE id < ?
