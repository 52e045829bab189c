-- forget_refresh__many: delete a refresh token, for many
DELETE FROM refresh WHERE hash = ANY (?::bytea[])

-- forget_ticket__many: delete a ticket, for many
DELETE FROM ticket WHERE hash = ANY (?::bytea[])
