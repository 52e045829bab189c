-- put_file__many: store the outcome of a request for a file, for many
INSERT INTO file (run_id, fingerprint, target, path, sha256, bytes, type)
SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::bytea[], ?::text[], ?::text[], ?::bigint[], ?::text[])
ON CONFLICT (run_id, fingerprint) DO UPDATE SET target = excluded.target, path = excluded.path,
    sha256 = excluded.sha256, bytes = excluded.bytes, type = excluded.type

-- files__many: outcomes of requests, for many
SELECT fingerprint, target, path, sha256, bytes, type FROM file
WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])

-- states__many: states of requests, and requests that were left out, for many
WITH wanted AS (SELECT (?::bigint[])[1] AS run_id, ?::bytea[] AS prints)
SELECT u.fingerprint, u.state FROM url u, wanted w
WHERE u.run_id = w.run_id AND u.fingerprint = ANY (w.prints) AND u.page LIKE '@file:%'
UNION ALL
SELECT l.fingerprint, 'left_out' FROM left_out l, wanted w WHERE l.run_id = w.run_id AND l.fingerprint = ANY (w.prints)
