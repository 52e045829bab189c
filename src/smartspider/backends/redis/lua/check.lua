-- Checks that all indexes agree. Inconsistencies are returned, and repaired on request.

local CHECKED = 200   -- entries checked in one call
local COUNTED = 20000 -- leases counted in one call; further ones are not

local Check = {}

local function report(found, what, repair, is_repaired)
  found[#found + 1] = what
  if is_repaired then repair() end
end

-- A non-empty lane is in exactly one of 'a' and 'w', by its head, and its run is registered at the host.
local function check_lane(x, found, run, host, repairs)
  local a, w, queue = Key.run(x, run, 'a'), Key.run(x, run, 'w'), Key.queue(x, run, host)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local open, closed = redis.call('ZSCORE', a, host), redis.call('ZSCORE', w, host)
  local name = 'run ' .. run .. ', ' .. host
  local is_kept = head[1] or redis.call('EXISTS', Key.gate(x, host)) == 1 -- otherwise it was evicted
  if is_kept and not redis.call('ZSCORE', Key.runs_at(x, host), run) then
    report(found, name .. ': its run is not registered at the host', function() redis.call('ZADD', Key.runs_at(x, host), 0, run) end, repairs)
  end
  local is_wrong = (head[1] and not open and not closed) or (not head[1] and (open or closed)) or (open and closed)
  if is_wrong or (open and tonumber(open) ~= lane_score(head)) then
    report(found, name .. ': its lane is not where it belongs', function()
      redis.call('ZREM', a, host)
      redis.call('ZREM', w, host)
      if head[1] then redis.call('ZADD', a, lane_score(head), host) end
    end, repairs)
  end
end

-- run, cursor, whether to repair.
function Check.lanes(x, argv)
  local run, repairs = argv[1], argv[3] == '1'
  local page = redis.call('SSCAN', Key.run(x, run, 'hosts'), argv[2], 'COUNT', CHECKED)
  local found = {page[1]}
  for _, host in ipairs(page[2]) do check_lane(x, found, run, host, repairs) end
  return found
end

-- A waiting request is in 'later' or 'alone', and every entry there has a position. run, cursor, whether to repair.
function Check.waiting(x, argv)
  local run, repairs = argv[1], argv[3] == '1'
  local held = Key.run(x, run, 'held')
  local page = redis.call('HSCAN', held, argv[2], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local number = page[2][i]
    local later, alone = Key.run(x, run, 'later'), Key.run(x, run, 'alone')
    if not redis.call('ZSCORE', later, number) and not redis.call('ZSCORE', alone, number) then
      report(found, 'run ' .. run .. ': a waiting request has no due time', function() redis.call('HDEL', held, number) end, repairs)
    end
  end
  if argv[2] == '0' then
    local size = redis.call('ZCARD', Key.run(x, run, 'later')) + redis.call('ZCARD', Key.run(x, run, 'alone'))
    if size ~= redis.call('HLEN', held) then found[#found + 1] = 'run ' .. run .. ': due times and positions differ in number' end
  end
  return found
end

local function missing(x, record)
  if not redis.call('ZSCORE', Key.worker(x, record.worker), record.id) then return 'is held by no worker' end
  if not redis.call('ZSCORE', Key.flight(x, record.host), record.id) then return 'is not in flight at its host' end
  local domain = Gate.read(x, record.host).domain
  if redis.call('SISMEMBER', Key.in_flight_hosts(x, domain), record.host) == 0 then
    return 'is not in flight at its domain'
  end
  return nil
end

local function index_lease(x, record)
  local deadline = redis.call('ZSCORE', Key.worker(x, record.worker), record.id)
    or redis.call('ZSCORE', Key.flight(x, record.host), record.id) or in_ms(x.now)
  redis.call('ZADD', Key.worker(x, record.worker), deadline, record.id)
  redis.call('ZADD', Key.workers(x), 'LT', deadline, record.worker)
  redis.call('ZADD', Key.flight(x, record.host), deadline, record.id)
  redis.call('SADD', Key.in_flight_hosts(x, Gate.read(x, record.host).domain), record.host)
end

local function check_lease(x, found, record, repairs)
  local name = 'run ' .. run_of(record.id) .. ', lease ' .. string.format('%d.%d', record.epoch, record.counter)
  if record.reported_at > 0 then
    if not redis.call('ZSCORE', Key.returned(x), record.id) then
      report(found, name .. ' was taken back and is not reported', function()
        redis.call('ZADD', Key.returned(x), x.now, record.id)
      end, repairs)
    end
    return
  end
  local what = missing(x, record)
  if what then report(found, name .. ' ' .. what, function() index_lease(x, record) end, repairs) end
end

-- cursor, whether to repair.
function Check.leases(x, argv)
  local page = redis.call('HSCAN', Key.leases(x), argv[1], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local id, record = page[2][i], unpack_record(page[2][i + 1])
    if record and string.len(id) == 8 then
      record.id = id
      check_lease(x, found, record, argv[2] == '1')
    else
      report(found, 'a lease cannot be read', function() redis.call('HDEL', Key.leases(x), id) end, argv[2] == '1')
    end
  end
  return found
end

-- Entries of workers without a lease: cursor, whether to repair.
function Check.workers(x, argv)
  local repairs = argv[2] == '1'
  local page = redis.call('ZSCAN', Key.workers(x), argv[1], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local worker = page[2][i]
    for _, id in ipairs(redis.call('ZRANGE', Key.worker(x, worker), 0, -1)) do
      if redis.call('HEXISTS', Key.leases(x), id) == 0 then
        report(found, 'worker ' .. worker .. ': holds a request that is not leased', function()
          redis.call('ZREM', Key.worker(x, worker), id)
        end, repairs)
      end
    end
  end
  return found
end

-- Requests in flight of each run, by its leases and by the counter. All in one call, or the result would be
-- inconsistent. cursor, whether to repair.
function Check.in_flight(x, argv)
  local found, counted = {'0'}, {}
  if redis.call('HLEN', Key.leases(x)) > COUNTED then return found end
  local leases = redis.call('HGETALL', Key.leases(x))
  for i = 1, #leases, 2 do
    local record = unpack_record(leases[i + 1])
    if record and record.reported_at == 0 and string.len(leases[i]) == 8 then
      local run = run_of(leases[i])
      counted[run] = (counted[run] or 0) + 1
    end
  end
  local kept = redis.call('HGETALL', Key.in_flight(x))
  for i = 1, #kept, 2 do counted[kept[i]] = counted[kept[i]] or 0 end
  for run, count in pairs(counted) do
    local by_count = tonumber(redis.call('HGET', Key.in_flight(x), run) or 0)
    if by_count ~= count then
      report(found, 'run ' .. run .. ': ' .. by_count .. ' in flight by the counter, ' .. count .. ' leases', function()
        redis.call('HSET', Key.in_flight(x), run, count)
      end, argv[2] == '1')
    end
  end
  return found
end
