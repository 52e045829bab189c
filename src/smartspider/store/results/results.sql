-- after: rows in the order they were committed
SELECT id, url_id, data FROM item WHERE id > ? AND id < ? ORDER BY id LIMIT ?

-- before: rows from the newest on
SELECT id, url_id, data FROM item WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?

-- one: a row
SELECT id, url_id, data FROM item WHERE id = ?

-- origin: the page of a row
SELECT url, coalesce(closed_at, 0) FROM url WHERE id = ?

-- counts: how many rows a run has; something of it changes whenever one of them does
SELECT items, next_item, updated FROM run WHERE id = ?
