-- current: the newest term
SELECT owner, epoch, until FROM leader

-- contested: the same, locked for taking a term
SELECT owner, epoch, until FROM leader LIMIT 1

-- take: start a new term
UPDATE leader SET owner = ?, epoch = epoch + 1, until = ? RETURNING epoch

-- prolong: renew a term
UPDATE leader SET until = ? RETURNING epoch

-- resign: end the term of an owner
UPDATE leader SET owner = '', until = ? WHERE owner = ?
