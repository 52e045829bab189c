-- end: end sessions whose client stopped in the middle of sending; no timeout of the server runs there before version 17
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = 'smartspider'
  AND state = 'active' AND wait_event = 'ClientRead' AND query_start < clock_timestamp() - ? * interval '1 second'
