-- task: the task of a run and the hash of its spec
SELECT task_id, spec_hash FROM run WHERE id = ?

-- visit: the last visit of a page, unless by a cancelled run
SELECT v.fingerprint, v.run_id, v.fetched_at, v.interval_s, v.etag, v.last_modified, v.context,
       run.state IS NULL OR run.state <> 'cancelled'
FROM visited v LEFT JOIN run ON run.id = v.run_id WHERE v.task_id = ? AND v.fingerprint = ?

-- leave_alone: skip a request whose page was visited recently
UPDATE url SET state = 'skipped', reason = ?, cause = 'recrawl', closed_at = ? WHERE id = ?

-- set_extras: set what is sent with a request
UPDATE url SET extras = ? WHERE id = ?

-- left_alone: a request skipped for that reason, by fingerprint
SELECT id, host_id, priority, cause FROM url WHERE run_id = ? AND fingerprint = ? AND state = 'skipped'

-- look_after_all: reopen such a request
UPDATE url SET state = 'open', reason = NULL, cause = NULL, closed_at = NULL, is_next_page = 1 WHERE id = ?

-- seen: the remembered version of a page
SELECT fingerprint, content, changed_at, interval_s FROM visited WHERE task_id = ? AND fingerprint = ?

-- remember: remember a page
INSERT INTO visited (task_id, fingerprint, run_id, fetched_at, changed_at, interval_s, content, etag, last_modified,
    context, page)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_id, fingerprint) DO UPDATE SET run_id = excluded.run_id, fetched_at = excluded.fetched_at,
    changed_at = excluded.changed_at, interval_s = excluded.interval_s, content = excluded.content,
    etag = excluded.etag, last_modified = excluded.last_modified, context = excluded.context, page = excluded.page

-- recall: the remembered content of a page
SELECT fingerprint, content, etag, last_modified, context, page FROM visited WHERE task_id = ? AND fingerprint = ?

-- forget: delete some thousand pages that a run was the last to visit
DELETE FROM visited WHERE (task_id, fingerprint) IN
    (SELECT task_id, fingerprint FROM visited WHERE run_id = ? LIMIT 9999)
