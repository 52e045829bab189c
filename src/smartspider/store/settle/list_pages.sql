-- find: the list of a page, and the page of that list that brought the same as another
SELECT known.url_id, known.chain, same.digest, same.url_id, url.url FROM list_page known
LEFT JOIN list_page same ON same.chain = known.chain AND same.digest = ?2
LEFT JOIN url ON url.id = same.url_id WHERE known.url_id = ?1

-- add: add a page of a list
INSERT INTO list_page (chain, digest, url_id) VALUES (?, ?, ?) ON CONFLICT (chain, digest) DO NOTHING

-- delete: delete some thousand pages of the lists of a run
DELETE FROM list_page WHERE (chain, digest) IN
    (SELECT chain, digest FROM list_page WHERE chain >= ? AND chain < ? LIMIT 9999)
