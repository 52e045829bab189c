-- runs: live runs with their open requests
SELECT id, state, total - done - redirect - missing - skipped - dead - broken, concurrency
FROM run WHERE state IN ('queued', 'running') ORDER BY id LIMIT ?

-- keep: store a decision
UPDATE scaling SET desired = ?, at = ?, figure = ?

-- decision: the last decision
SELECT figure FROM scaling
