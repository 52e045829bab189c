-- forget__many: answers that nobody may ask for again
DELETE FROM answer USING unnest(?::text[], ?::text[]) AS old (actor, key)
WHERE answer.actor = old.actor AND answer.key = old.key
