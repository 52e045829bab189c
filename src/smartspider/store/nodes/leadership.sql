-- current: the newest term
SELECT owner, epoch, until FROM leader

-- contested: the same, for who would lead
SELECT owner, epoch, until FROM leader LIMIT 1

-- take: a new term
UPDATE leader SET owner = ?, epoch = epoch + 1, until = ? RETURNING epoch

-- prolong: the same term, for longer
UPDATE leader SET until = ? RETURNING epoch

-- resign: the term of an owner is over
UPDATE leader SET owner = '', until = ? WHERE owner = ?
