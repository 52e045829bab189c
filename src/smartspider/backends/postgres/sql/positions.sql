-- advance: move it forward
INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, excluded.value)
