-- put_file: store the outcome of a request for a file
INSERT INTO file (run_id, fingerprint, target, path, sha256, bytes, type) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, fingerprint) DO UPDATE SET target = excluded.target, path = excluded.path,
    sha256 = excluded.sha256, bytes = excluded.bytes, type = excluded.type

-- has_open_files: whether a run has open requests for files
SELECT EXISTS (SELECT 1 FROM url WHERE run_id = ? AND state = 'open' AND page LIKE '@file:%')

-- files: outcomes of requests
SELECT fingerprint, target, path, sha256, bytes, type FROM file WHERE run_id = ?1 AND fingerprint = ?2

-- states: states of requests, and requests that were left out
SELECT fingerprint, state FROM url WHERE run_id = ?1 AND fingerprint = ?2 AND page LIKE '@file:%'
UNION ALL SELECT fingerprint, 'left_out' FROM left_out WHERE run_id = ?1 AND fingerprint = ?2

-- totals: number and size of the files of a run
SELECT count(*), coalesce(sum(bytes), 0) FROM file WHERE run_id = ? AND path IS NOT NULL

-- delete_files: delete the outcomes of a run
DELETE FROM file WHERE (run_id, fingerprint) IN (SELECT run_id, fingerprint FROM file WHERE run_id = ? LIMIT 9999)

-- list_files: files of a run, by the fingerprint of their request
SELECT f.fingerprint, u.url, f.path, f.sha256, f.bytes, f.type, u.closed_at
FROM file f JOIN url u ON u.run_id = f.run_id AND u.fingerprint = f.fingerprint
WHERE f.run_id = ? AND f.fingerprint > ? AND f.path IS NOT NULL ORDER BY f.fingerprint LIMIT ?

-- get_file: a file of a run
SELECT f.fingerprint, u.url, f.path, f.sha256, f.bytes, f.type, u.closed_at
FROM file f JOIN url u ON u.run_id = f.run_id AND u.fingerprint = f.fingerprint
WHERE f.run_id = ? AND f.fingerprint = ? AND f.path IS NOT NULL
