-- add__many: add lines with their index terms; numbers are given in commit order
WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(7305004))
INSERT INTO log (at, level, event, task_id, run_id, worker, host, url, error, text, fields, words)
SELECT line.at, level, event, task_id, run_id, worker, host, url, error, line.text, fields,
       string_to_array(line.words, ' ')
FROM alone, unnest(?::double precision[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::text[], ?::text[],
                   ?::text[], ?::text[], ?::text[], ?::text[], ?::text[]) WITH ORDINALITY
     AS line (at, level, event, task_id, run_id, worker, host, url, error, text, fields, words, place)
ORDER BY place

-- task_of__many: tasks of runs, locked against deletion until the transaction ends
SELECT id, task_id FROM run WHERE id = ANY (?::bigint[]) ORDER BY id FOR KEY SHARE

-- hold_run__write: lock a run against adding lines
SELECT 1 FROM run WHERE id = ? FOR UPDATE

-- grow: add to the size, and set the last number
UPDATE log_size SET bytes = greatest(bytes + ?, 0),
                    last = greatest(last, (SELECT coalesce(max(id), 0) FROM log))

-- last: the last committed number
SELECT last FROM log_size

-- by_terms: lines of an interval with index terms; conditions may be appended
SELECT log.id, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log WHERE log.id > ? AND log.id < ? AND log.words @> string_to_array(?, ' ')

-- times_by_terms: time and level of lines of an interval with index terms; conditions may be appended
SELECT log.at, log.level FROM log WHERE log.id > ? AND log.id < ? AND log.words @> string_to_array(?, ' ')

-- sample_by_terms: time and level of lines with index terms in blocks of numbers; conditions may be appended
WITH RECURSIVE block (id) AS (
    SELECT CAST(? AS bigint) UNION ALL SELECT id + CAST(? AS bigint) FROM block WHERE id + CAST(? AS bigint) < CAST(? AS bigint)
)
SELECT log.at, log.level FROM block CROSS JOIN log
WHERE log.id >= block.id AND log.id < block.id + CAST(? AS bigint) AND log.words @> string_to_array(?, ' ')

-- of_run: lines of a run and their sizes
SELECT id, octet_length(text), octet_length(fields), octet_length(url)
FROM log WHERE words @> string_to_array(?, ' ') AND run_id = ? LIMIT ?

-- remove__many: delete a line and its index terms; the number is given for each, for many
DELETE FROM log USING unnest(?::bigint[], ?::bigint[]) AS gone (id, same) WHERE log.id = gone.id
