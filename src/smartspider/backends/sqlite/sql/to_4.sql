-- From version 3 to 4: how workers do, and how many are wanted.

ALTER TABLE worker ADD COLUMN cpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN is_elastic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN form TEXT NOT NULL DEFAULT '{}';

CREATE TABLE scaling (
    desired INTEGER NOT NULL,
    at      REAL NOT NULL,
    figure  TEXT NOT NULL
);
INSERT INTO scaling VALUES (-1, 0, '');
