-- find__many: the lists of pages, and the pages of these lists that brought the same as others
SELECT known.url_id, known.chain, same.digest, same.url_id, url.url
FROM unnest(?::bigint[], ?::bytea[]) AS asked (url_id, digest)
JOIN list_page known ON known.url_id = asked.url_id
LEFT JOIN list_page same ON same.chain = known.chain AND same.digest = asked.digest
LEFT JOIN url ON url.id = same.url_id

-- add__many: add a page of a list, for many
INSERT INTO list_page (chain, digest, url_id) SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::bigint[]) ORDER BY 1, 2
ON CONFLICT (chain, digest) DO NOTHING
