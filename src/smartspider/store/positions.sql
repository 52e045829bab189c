-- position: the last row of a feed that a consumer has confirmed
SELECT value FROM meta WHERE name = ?

-- advance: move it forward
INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = max(value, ?2)
