-- forget__many: delete a response, for many
DELETE FROM answer USING unnest(?::text[], ?::text[]) AS old (actor, key)
WHERE answer.actor = old.actor AND answer.key = old.key
