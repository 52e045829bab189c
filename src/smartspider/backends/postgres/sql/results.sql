-- after: rows in commit order, up to four million characters, see `store/results/rows.py`
SELECT id, url_id, data, checksum FROM (
    SELECT id, url_id, data, checksum, sum(length(data)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - length(data) AS before
    FROM (SELECT id, url_id, data, checksum FROM item WHERE id > ? AND id < ? ORDER BY id LIMIT ?) AS piece) AS sized
WHERE before < 4000000 ORDER BY id

-- before: rows in reverse commit order
SELECT id, url_id, data, checksum FROM (
    SELECT id, url_id, data, checksum, sum(length(data)) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) - length(data) AS before
    FROM (SELECT id, url_id, data, checksum FROM item WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?) AS piece) AS sized
WHERE before < 4000000 ORDER BY id DESC
