-- head: the newest entry and its time
SELECT last, hash, at FROM audit_head

-- head__write: the same, locked for adding the next entry
SELECT last, hash, at FROM audit_head FOR UPDATE

-- set_head: set the newest entry
UPDATE audit_head SET last = ?1, hash = ?2, at = (SELECT at FROM audit WHERE id = ?1)

-- after: entries in order; as bytes, since tampered ones may hold invalid text
SELECT id, at, convert_to(actor, 'UTF8'), convert_to(action, 'UTF8'), convert_to(subject, 'UTF8'),
       convert_to(detail, 'UTF8'), convert_to(previous, 'UTF8'), convert_to(hash, 'UTF8')
FROM audit WHERE id > ? ORDER BY id LIMIT ?

-- before: entries from the newest on; conditions may be appended
SELECT id, at, convert_to(actor, 'UTF8'), convert_to(action, 'UTF8'), convert_to(subject, 'UTF8'),
       convert_to(detail, 'UTF8'), convert_to(previous, 'UTF8'), convert_to(hash, 'UTF8')
FROM audit WHERE id < ?
