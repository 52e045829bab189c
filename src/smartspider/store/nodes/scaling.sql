-- runs: those that are worked on or wait to be, with what is open in them
SELECT id, state, total - done - redirect - missing - skipped - dead - broken, concurrency
FROM run WHERE state IN ('queued', 'running') ORDER BY id LIMIT ?

-- keep: so many workers are wanted
UPDATE scaling SET desired = ?, at = ?, figure = ?

-- decision: what was wanted last
SELECT figure FROM scaling
