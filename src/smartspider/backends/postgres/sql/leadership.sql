-- current__write: the newest term stays the newest until the transaction ends; who leads may prolong it meanwhile
SELECT owner, epoch, until FROM leader FOR KEY SHARE

-- contested__write: one at a time
SELECT owner, epoch, until FROM leader LIMIT 1 FOR NO KEY UPDATE
