-- visit__many: the last visit of a page, unless by a cancelled run, for many
SELECT v.fingerprint, v.run_id, v.fetched_at, v.interval_s, v.etag, v.last_modified, v.context,
       run.state IS NULL OR run.state <> 'cancelled'
FROM visited v LEFT JOIN run ON run.id = v.run_id
WHERE v.task_id = (?::bigint[])[1] AND v.fingerprint = ANY (?::bytea[])

-- leave_alone__many: skip a request whose page was visited recently, for many
UPDATE url SET state = 'skipped', reason = alone.reason, cause = 'recrawl', closed_at = alone.at
FROM unnest(?::text[], ?::float8[], ?::bigint[]) AS alone (reason, at, id) WHERE url.id = alone.id

-- left_alone__many: a request skipped for that reason, by fingerprint, for many
SELECT id, host_id, priority, cause FROM url
WHERE run_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[]) AND state = 'skipped'

-- look_after_all__many: reopen such a request, for many
UPDATE url SET state = 'open', reason = NULL, cause = NULL, closed_at = NULL, is_next_page = 1 WHERE id = ANY (?::bigint[])

-- seen__many: the remembered version of a page, for many
SELECT fingerprint, content, changed_at, interval_s FROM visited
WHERE task_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])

-- remember__many: remember a page, for many
INSERT INTO visited (task_id, fingerprint, run_id, fetched_at, changed_at, interval_s, content, etag, last_modified,
    context, page)
SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::float8[], ?::float8[], ?::float8[], ?::bytea[], ?::text[],
                     ?::text[], ?::bytea[], ?::bytea[])
ON CONFLICT (task_id, fingerprint) DO UPDATE SET run_id = excluded.run_id, fetched_at = excluded.fetched_at,
    changed_at = excluded.changed_at, interval_s = excluded.interval_s, content = excluded.content,
    etag = excluded.etag, last_modified = excluded.last_modified, context = excluded.context, page = excluded.page

-- recall__many: the remembered content of a page, for many
SELECT fingerprint, content, etag, last_modified, context, page FROM visited
WHERE task_id = (?::bigint[])[1] AND fingerprint = ANY (?::bytea[])
