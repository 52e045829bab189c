-- put__many: add a notification, once for each target, event and name, for many
INSERT INTO notification (target_id, event_id, name, run_id, data, created_at, due_at)
SELECT target_id, event_id, name, run_id, data, at, at
FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::text[], ?::double precision[]) WITH ORDINALITY
     AS put (target_id, event_id, name, run_id, data, at, place)
WHERE EXISTS (SELECT 1 FROM notification_target WHERE id = put.target_id)
ORDER BY place
ON CONFLICT DO NOTHING RETURNING id

-- failed: mark as failed
UPDATE notification SET tries = tries + 1, due_at = ?1::double precision,
                  ended_at = CASE WHEN ?1::double precision IS NULL THEN ?2::double precision END, error = ?3
WHERE id = ?4 AND due_at IS NOT NULL
