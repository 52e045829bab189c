-- after: rows in commit order
SELECT id, url_id, data, checksum FROM item WHERE id > ? AND id < ? ORDER BY id LIMIT ?

-- before: rows in reverse commit order
SELECT id, url_id, data, checksum FROM item WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?

-- one: a row
SELECT id, url_id, data, checksum FROM item WHERE id = ?

-- origin: the page of a row
SELECT url, coalesce(closed_at, 0) FROM url WHERE id = ?

-- counts: number of rows of a run, with a column that changes with every change of a row
SELECT items, next_item, updated FROM run WHERE id = ?
