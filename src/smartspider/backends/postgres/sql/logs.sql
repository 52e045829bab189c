-- add__many: lines and what they are found by; numbers are given in the order of commits
WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(7305004))
INSERT INTO log (at, level, event, task_id, run_id, worker, host, url, error, text, fields, words)
SELECT line.at, level, event, task_id, run_id, worker, host, url, error, line.text, fields,
       string_to_array(line.words, ' ')
FROM alone, unnest(?::double precision[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::text[], ?::text[],
                   ?::text[], ?::text[], ?::text[], ?::text[], ?::text[]) WITH ORDINALITY
     AS line (at, level, event, task_id, run_id, worker, host, url, error, text, fields, words, place)
ORDER BY place

-- task_of__many: tasks of runs, none of which is deleted before the transaction ends
SELECT id, task_id FROM run WHERE id = ANY (?::bigint[]) ORDER BY id FOR KEY SHARE

-- hold_run__write: nobody adds lines of a run
SELECT 1 FROM run WHERE id = ? FOR UPDATE

-- grow: so many bytes more, and the number that was given last
UPDATE log_size SET bytes = greatest(bytes + ?, 0),
                    last = greatest(last, (SELECT coalesce(max(id), 0) FROM log))

-- last: the number that was given last, by those who are through
SELECT last FROM log_size

-- by_terms: lines of an interval that have marks; more conditions may follow
SELECT log.id, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log WHERE log.id > ? AND log.id < ? AND log.words @> string_to_array(?, ' ')

-- of_run: lines of a run, and what they take
SELECT id, octet_length(text), octet_length(fields), octet_length(url)
FROM log WHERE words @> string_to_array(?, ' ') AND run_id = ? LIMIT ?

-- remove__many: lines
DELETE FROM log USING unnest(?::bigint[], ?::bigint[]) AS gone (id, same) WHERE log.id = gone.id
