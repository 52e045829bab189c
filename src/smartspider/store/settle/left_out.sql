-- counts: what a run left out, by reason
SELECT code, is_next_page, links, requests, is_cut FROM left_out_count WHERE run_id = ?

-- set_count: set the counts of a reason
INSERT INTO left_out_count (run_id, code, is_next_page, links, requests, is_cut) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, code, is_next_page) DO UPDATE SET links = excluded.links, requests = excluded.requests,
    is_cut = excluded.is_cut

-- find_link: a link that was left out
SELECT fingerprint, code, is_next_page FROM left_out WHERE run_id = ? AND fingerprint = ?

-- add_link: leave out a link
INSERT INTO left_out (run_id, fingerprint, code, is_next_page, detail, url, parent_id) VALUES (?, ?, ?, ?, ?, ?, ?)

-- drop_link: delete a link that became a request
DELETE FROM left_out WHERE run_id = ? AND fingerprint = ?
