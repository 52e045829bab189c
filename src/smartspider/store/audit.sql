-- head: the newest entry and its time
SELECT last, hash, coalesce((SELECT at FROM audit WHERE id = last), 0) FROM audit_head

-- set_head: set the newest entry
UPDATE audit_head SET last = ?, hash = ?

-- add: add an entry
INSERT INTO audit (id, at, actor, action, subject, detail, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- after: entries in order; as bytes, since tampered ones may hold invalid text
SELECT id, at, CAST(actor AS BLOB), CAST(action AS BLOB), CAST(subject AS BLOB), CAST(detail AS BLOB),
       CAST(previous AS BLOB), CAST(hash AS BLOB)
FROM audit WHERE id > ? ORDER BY id LIMIT ?

-- before: entries from the newest on; conditions may be appended
SELECT id, at, CAST(actor AS BLOB), CAST(action AS BLOB), CAST(subject AS BLOB), CAST(detail AS BLOB),
       CAST(previous AS BLOB), CAST(hash AS BLOB)
FROM audit WHERE id < ?

-- since: the first entry from a moment on
SELECT id FROM audit WHERE at >= ? ORDER BY at, id LIMIT 1
