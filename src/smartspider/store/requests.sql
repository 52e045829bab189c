-- stored: a request of a run, if it has a row
SELECT fingerprint FROM url WHERE run_id = ? AND fingerprint = ?

-- total: how many rows a run has
SELECT id, total FROM run WHERE id = ?

-- epoch: another one whenever committed rows may be gone; a file is what it is
SELECT 'file'
