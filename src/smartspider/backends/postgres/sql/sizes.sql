-- tables: size of tables with their indexes
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'smartspider')

-- database: size of the database
SELECT pg_database_size(current_database())
