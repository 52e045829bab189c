-- prolong: a term that is not over, by whose it is
UPDATE leader SET until = ? WHERE owner = ? AND until > ? RETURNING epoch
