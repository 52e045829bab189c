-- read: the server's clock, and how store time is computed from it
SELECT extract(epoch FROM clock_timestamp())::float8, shift_s, boot, slept_s, ahead_s, since, steps, returns FROM clock

-- others: the last sign of life of a worker that joined before a moment
SELECT coalesce(max(seen_at), 0) FROM worker WHERE joined_at <= ? AND gone_at IS NULL

-- move_retries: move the due times of retries along with a step
UPDATE url SET due_at = due_at + ? WHERE state = 'open' AND due_at IS NOT NULL
