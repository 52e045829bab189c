-- add: add a line with its index terms
INSERT INTO log (at, level, event, task_id, run_id, worker, host, url, error, text, fields)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
INSERT INTO log_words (rowid, words) VALUES (last_insert_rowid(), ?)

-- task_of: the task of a run, locked while lines are added
SELECT id, task_id FROM run WHERE id = ?

-- hold_run: lock a run against adding lines
SELECT 1 FROM run WHERE id = ?

-- grow: add to the size
UPDATE log_size SET bytes = max(bytes + ?, 0)

-- size: size of all lines
SELECT bytes FROM log_size

-- ends: the oldest and the newest line
SELECT (SELECT min(id) FROM log), (SELECT max(id) FROM log)

-- last: the last number
SELECT seq FROM sqlite_sequence WHERE name = 'log'

-- line_from: the first line from a number on, and its time
SELECT id, at FROM log WHERE id >= ? ORDER BY id LIMIT 1

-- by_terms: lines of an interval with index terms; conditions may be appended
SELECT log_words.rowid, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words.rowid > ? AND log_words.rowid < ? AND log_words MATCH ?

-- all: lines of an interval; conditions may be appended
SELECT log.id, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log WHERE log.id > ? AND log.id < ?

-- times: time and level of lines of an interval; conditions may be appended
SELECT log.at, log.level FROM log WHERE log.id > ? AND log.id < ?

-- times_by_terms: time and level of lines of an interval with index terms; conditions may be appended
SELECT log.at, log.level FROM log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words.rowid > ? AND log_words.rowid < ? AND log_words MATCH ?

-- sample: time and level of lines in blocks of numbers; conditions may be appended
WITH RECURSIVE pick (place, next) AS (
    SELECT CAST(0 AS bigint), CAST(1 AS bigint) UNION ALL
    SELECT next, next + CASE WHEN (next + 1) % CAST(? AS bigint) = CAST(? AS bigint) THEN CAST(? AS bigint) ELSE 1 END
    FROM pick WHERE next < CAST(? AS bigint)
)
SELECT log.at, log.level FROM log WHERE log.id IN (SELECT place + CAST(? AS bigint) FROM pick)

-- sample_by_terms: time and level of lines with index terms in blocks of numbers; conditions may be appended
WITH RECURSIVE block (id) AS (
    SELECT CAST(? AS bigint) UNION ALL SELECT id + CAST(? AS bigint) FROM block WHERE id + CAST(? AS bigint) < CAST(? AS bigint)
)
SELECT log.at, log.level FROM block CROSS JOIN log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words.rowid >= block.id AND log_words.rowid < block.id + CAST(? AS bigint) AND log_words MATCH ?

-- oldest: the oldest lines and their sizes
SELECT id, octet_length(text), octet_length(fields), octet_length(url) FROM log ORDER BY id LIMIT ?

-- older: those of the oldest lines that are older than a moment, and their sizes
SELECT id, octet_length(text), octet_length(fields), octet_length(url) FROM log
WHERE id IN (SELECT id FROM log ORDER BY id LIMIT ?) AND at < ?

-- of_run: lines of a run and their sizes
SELECT log.id, octet_length(log.text), octet_length(log.fields), octet_length(log.url)
FROM log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words MATCH ? AND log.run_id = ? LIMIT ?

-- remove: delete a line and its index terms; the number is given for each
DELETE FROM log WHERE id = ?;
DELETE FROM log_words WHERE rowid = ?
