-- forget_refresh__many: as if there had been none
DELETE FROM refresh WHERE hash = ANY (?::bytea[])

-- forget_ticket__many: as if there had been none
DELETE FROM ticket WHERE hash = ANY (?::bytea[])
