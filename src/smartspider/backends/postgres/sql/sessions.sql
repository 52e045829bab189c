-- forget_refresh__many: delete a refresh token, for many
DELETE FROM refresh WHERE hash = ANY (?::bytea[])

-- forget_ticket__many: delete a ticket, for many
DELETE FROM ticket WHERE hash = ANY (?::bytea[])

-- forget_browser_session__many: delete a session of a browser, for many
DELETE FROM browser_session WHERE hash = ANY (?::bytea[])
