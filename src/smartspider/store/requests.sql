-- stored: the fingerprint of a request with a row in the run
SELECT fingerprint FROM url WHERE run_id = ? AND fingerprint = ?

-- total: number of rows of a run
SELECT id, total FROM run WHERE id = ?

-- epoch: changes whenever committed rows may be lost; a file keeps its own
SELECT 'file'
