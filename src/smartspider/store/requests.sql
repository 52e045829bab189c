-- stored: the fingerprint of a request with a row in the run
SELECT fingerprint FROM url WHERE run_id = ? AND fingerprint = ?

-- total: number of rows of a run
SELECT id, total FROM run WHERE id = ?

-- epoch: changes whenever committed rows may be lost; a file keeps its own
SELECT 'file'

-- open_request: an open row as a lease needs it
SELECT u.attempts, u.returns, u.visit, u.url, u.fingerprint, u.page, u.priority, u.depth, u.is_entry, u.extras, p.url,
    u.is_next_page
FROM url u LEFT JOIN url p ON p.id = u.parent_id WHERE u.id = ? AND u.state = 'open'
