-- items_after: items in the order of their ids, their data as bytes
SELECT id, url_id, convert_to(data, 'UTF8'), checksum FROM item WHERE id > ? ORDER BY id LIMIT 200
