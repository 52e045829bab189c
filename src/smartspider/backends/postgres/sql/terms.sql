-- prolong: renew an unexpired term of an owner
UPDATE leader SET until = ? WHERE owner = ? AND until > ? RETURNING epoch
