-- stale: entries of the frontier whose rows are closed or unknown, except leases that still count at a gate
SELECT live.url_id FROM
    (SELECT url_id FROM lease UNION ALL SELECT url_id FROM later UNION ALL SELECT url_id FROM queue) AS live
LEFT JOIN url ON url.id = live.url_id
WHERE url.state IS NOT 'open' AND live.url_id NOT IN
    (SELECT lease.url_id FROM lease LEFT JOIN run ON run.id = lease.run_id LEFT JOIN url ON url.id = lease.url_id
     WHERE run.id IS NULL OR run.state IN ('completed', 'failed', 'cancelled') OR url.state IN ('skipped', 'dead'))

-- doubled: requests that are in the frontier twice
SELECT url_id FROM
    (SELECT url_id FROM lease UNION ALL SELECT url_id FROM later UNION ALL SELECT url_id FROM queue)
GROUP BY url_id HAVING count(*) > 1

-- drop_lease: delete the lease of a request
DELETE FROM lease WHERE url_id = ?

-- drop_later: delete a waiting request
DELETE FROM later WHERE url_id = ?

-- drop_queued: delete a queued request
DELETE FROM queue WHERE url_id = ?

-- lost: open rows of unfinished runs that are not in the frontier
SELECT url.run_id, url.id FROM url JOIN run ON run.id = url.run_id
WHERE url.state = 'open' AND run.state NOT IN ('completed', 'failed', 'cancelled')
AND url.id NOT IN
    (SELECT url_id FROM lease UNION ALL SELECT url_id FROM later UNION ALL SELECT url_id FROM queue)
ORDER BY url.id

-- wrong_lanes: lanes that differ from their queues
SELECT lane.id FROM lane WHERE queued <> (SELECT count(*) FROM queue WHERE lane_id = lane.id)
OR (queued > 0 AND rank <> (SELECT min(rank) FROM queue WHERE lane_id = lane.id))

-- count_lane: compute a lane from its queue
UPDATE lane SET queued = (SELECT count(*) FROM queue WHERE lane_id = lane.id), wake_at = NULL,
    rank = coalesce((SELECT min(rank) FROM queue WHERE lane_id = lane.id), 0) WHERE id = ?
