-- set_count__many: set the counts of a reason, for many
INSERT INTO left_out_count (run_id, code, is_next_page, links, requests, is_cut)
SELECT * FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])
ON CONFLICT (run_id, code, is_next_page) DO UPDATE SET links = excluded.links, requests = excluded.requests,
    is_cut = excluded.is_cut

-- find_link__many: a link that was left out, for many
SELECT fingerprint, code, is_next_page FROM left_out WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])

-- add_link__many: leave out a link, for many
INSERT INTO left_out (run_id, fingerprint, code, is_next_page, detail, url, parent_id)
SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::bigint[])

-- drop_link__many: delete a link that became a request, for many
DELETE FROM left_out WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])
