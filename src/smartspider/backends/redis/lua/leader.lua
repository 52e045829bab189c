-- The leader's calls: setting runs and hosts, offering open rows, counting.

local WORK = 500 -- hosts processed in one call

local Leader = {}

-- Removes a deleted run host by host; its leases stay at their gates until they end.
local function drop_some(x, run, limit)
  local hosts = redis.call('SPOP', Key.run(x, run, 'hosts'), limit)
  for _, host in ipairs(hosts) do
    redis.call('UNLINK', Key.queue(x, run, host))
    redis.call('ZREM', Key.runs_at(x, host), run)
    redis.call('ZREM', Key.run(x, run, 'a'), host)
    redis.call('ZREM', Key.run(x, run, 'w'), host)
    x.gates[host] = nil
    Gate.reopen(x, host)
    Gate.rest(x, host)
  end
  if #hosts < limit then
    local parts = {}
    for i, part in ipairs({'hosts', 'a', 'w', 'later', 'alone', 'held', 'more', 'sent'}) do parts[i] = Key.run(x, run, part) end
    redis.call('UNLINK', unpack(parts))
    redis.call('ZREM', Key.asked(x), run)
    redis.call('SREM', Key.gone(x), run)
    redis.call('SREM', Key.rested(x), run)
  end
  return #hosts
end

-- A changed control may have opened the gates of the run's hosts.
local function touch_some(x, run, cursor, limit)
  local found = redis.call('SSCAN', Key.run(x, run, 'hosts'), cursor, 'COUNT', limit)
  for _, host in ipairs(found[2]) do Gate.reopen(x, host) end
  if found[1] == '0' then
    redis.call('HDEL', Key.touched(x), run)
  else
    redis.call('HSET', Key.touched(x), run, found[1])
  end
  return #found[2]
end

local function catch_up(x)
  local left = WORK
  for _, run in ipairs(redis.call('SMEMBERS', Key.gone(x))) do
    if left > 0 then left = left - drop_some(x, run, left) end
  end
  local touched = redis.call('HGETALL', Key.touched(x))
  for i = 1, #touched, 2 do
    if left > 0 then left = left - touch_some(x, touched[i], touched[i + 1], left) end
  end
  return redis.call('EXISTS', Key.gone(x), Key.touched(x)) > 0 and 1 or 0
end

-- All runs: run, control, run, control ... Returns 1 if it must be called again to finish.
function Leader.controls(x, argv)
  local named, known = {}, redis.call('HGETALL', Key.controls(x))
  for i = 2, #argv, 2 do named[argv[i]] = argv[i + 1] end
  for i = 1, #known, 2 do
    local run = known[i]
    if not named[run] then
      redis.call('HDEL', Key.controls(x), run)
      redis.call('HDEL', Key.touched(x), run)
      redis.call('SADD', Key.gone(x), run)
    elseif named[run] == known[i + 1] then
      named[run] = nil
    end
  end
  for run, control in pairs(named) do
    redis.call('HSET', Key.controls(x), run, control)
    redis.call('HSET', Key.touched(x), run, '0')
    redis.call('SREM', Key.gone(x), run)
  end
  return catch_up(x)
end

-- Returns some of the keys with a prefix.
local function some_keys(prefix, cursor, count)
  local own = string.gsub(prefix, '[%[%]?*\\^]', '\\%0') .. '*'
  return redis.call('SCAN', cursor, 'MATCH', own, 'COUNT', count)
end

-- Evicts idle hosts, some at a time: epoch, cursor. Returns the next cursor, and how many were evicted.
function Leader.let_go(x, argv)
  if not x.is_armed then return {'0', 0} end
  local prefix, gone = Key.gate(x, ''), 0
  local found = some_keys(prefix, argv[2], WORK)
  for _, key in ipairs(found[2]) do
    if Gate.rest(x, string.sub(key, #prefix + 1)) then gone = gone + 1 end
  end
  return {found[1], gone}
end

-- Removes everything of the shard but its term, some at a time: epoch, cursor. Returns the next cursor. The process
-- that begins the shard does it, so nothing can have been added meanwhile.
function Leader.forget(x, argv)
  local found = some_keys(x.tag .. ':', argv[2], 2 * WORK)
  for _, key in ipairs(found[2]) do
    if key ~= Key.term(x) and key ~= x.tag .. ':wall' then redis.call('UNLINK', key) end -- nor the clock of the test suites
  end
  if found[1] == '0' then redis.call('HDEL', Key.term(x), 'stale') end
  return found[1]
end

-- name, domain, robots, adaptive, operator, held until, openings, changed at ...
function Leader.hosts(x, argv, at)
  for i = at, #argv, 8 do Gate.set(x, {unpack(argv, i, i + 7)}) end
  return 1
end

-- epoch, number of marks, per mark: host and whether the store has more, then as for an offer.
function Leader.replay(x, argv)
  local past = 3 + 2 * tonumber(argv[2])
  local new = Lanes.offer(x, argv, past)
  if new >= 0 then
    for i = 3, past - 1, 2 do Lanes.mark(x, argv[past], argv[i], argv[i + 1] == '1') end
  end
  return new
end

local function lane(x, answer, run, host)
  local queued = redis.call('ZCARD', Key.queue(x, run, host))
  local has_more = redis.call('ZSCORE', Key.run(x, run, 'more'), host) and 1 or 0
  if queued > 0 or has_more == 1 then push(answer, host, queued, has_more) end
end

-- Lanes of a run, some at a time: run, cursor, part ('hosts' for all, 'more' for those whose tail is in the store).
function Leader.lanes(x, argv)
  local run, part = argv[1], argv[3]
  local found = redis.call(part == 'more' and 'ZSCAN' or 'SSCAN', Key.run(x, run, part), argv[2], 'COUNT', WORK)
  local answer = {found[1]}
  for i = 1, #found[2], part == 'more' and 2 or 1 do lane(x, answer, run, found[2][i]) end
  return answer
end

-- Returns waiting and leased requests and cut lanes of runs.
function Leader.counts(x, argv)
  local answer = {}
  for _, run in ipairs(argv) do
    push(answer, redis.call('ZCARD', Key.run(x, run, 'later')) + redis.call('ZCARD', Key.run(x, run, 'alone')),
      tonumber(redis.call('HGET', Key.in_flight(x), run) or 0), redis.call('ZCARD', Key.run(x, run, 'more')))
  end
  return answer
end
