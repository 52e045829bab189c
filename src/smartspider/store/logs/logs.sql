-- add: a line, and what it is found by
INSERT INTO log (at, level, event, task_id, run_id, worker, host, url, error, text, fields)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
INSERT INTO log_words (rowid, words) VALUES (last_insert_rowid(), ?)

-- task_of: the task of a run, which stays as long as lines are added
SELECT id, task_id FROM run WHERE id = ?

-- hold_run: nobody adds lines of a run
SELECT 1 FROM run WHERE id = ?

-- grow: so many bytes more
UPDATE log_size SET bytes = max(bytes + ?, 0)

-- size: bytes of all lines
SELECT bytes FROM log_size

-- ends: the oldest and the newest line
SELECT (SELECT min(id) FROM log), (SELECT max(id) FROM log)

-- last: the number that was given last
SELECT seq FROM sqlite_sequence WHERE name = 'log'

-- line_from: the first line from a number on, and its moment
SELECT id, at FROM log WHERE id >= ? ORDER BY id LIMIT 1

-- by_terms: lines of an interval that have marks; more conditions may follow
SELECT log_words.rowid, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words.rowid > ? AND log_words.rowid < ? AND log_words MATCH ?

-- all: lines of an interval; more conditions may follow
SELECT log.id, log.at, log.level, log.event, log.text, log.worker, log.task_id, log.run_id, log.host, log.url,
       log.error, log.fields
FROM log WHERE log.id > ? AND log.id < ?

-- oldest: the oldest lines, and what they take
SELECT id, octet_length(text), octet_length(fields), octet_length(url) FROM log ORDER BY id LIMIT ?

-- older: of the oldest lines those from before a moment, and what they take
SELECT id, octet_length(text), octet_length(fields), octet_length(url) FROM log
WHERE id IN (SELECT id FROM log ORDER BY id LIMIT ?) AND at < ?

-- of_run: lines of a run, and what they take
SELECT log.id, octet_length(log.text), octet_length(log.fields), octet_length(log.url)
FROM log_words CROSS JOIN log ON log.id = log_words.rowid
WHERE log_words MATCH ? AND log.run_id = ? LIMIT ?

-- remove: a line, and what it was found by; its number is given for each
DELETE FROM log WHERE id = ?;
DELETE FROM log_words WHERE rowid = ?
