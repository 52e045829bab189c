-- current__write: the newest term, locked against a newer one until the transaction ends; its owner may renew it meanwhile
SELECT owner, epoch, until FROM leader FOR KEY SHARE

-- contested__write: the same, one at a time
SELECT owner, epoch, until FROM leader LIMIT 1 FOR NO KEY UPDATE
