-- Whether every index agrees with the others. What does not is told, and mended when that is asked for.

local CHECKED = 200   -- looked at in one call
local COUNTED = 20000 -- leases that are counted in one call; more are not

local Check = {}

local function say(found, what, mend, is_mended)
  found[#found + 1] = what
  if is_mended then mend() end
end

-- A lane with anything queued stands in exactly one place, by its head, and its run stands at the host.
local function check_lane(x, found, run, host, mends)
  local a, w, queue = Key.run(x, run, 'a'), Key.run(x, run, 'w'), Key.queue(x, run, host)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local open, closed = redis.call('ZSCORE', a, host), redis.call('ZSCORE', w, host)
  local name = 'run ' .. run .. ', ' .. host
  local is_kept = head[1] or redis.call('EXISTS', Key.gate(x, host)) == 1 -- else it was let go
  if is_kept and not redis.call('ZSCORE', Key.standing(x, host), run) then
    say(found, name .. ': it does not stand at the host', function() redis.call('ZADD', Key.standing(x, host), 0, run) end, mends)
  end
  local is_wrong = (head[1] and not open and not closed) or (not head[1] and (open or closed)) or (open and closed)
  if is_wrong or (open and tonumber(open) ~= standing_of(head)) then
    say(found, name .. ': its lane does not stand where it belongs', function()
      redis.call('ZREM', a, host)
      redis.call('ZREM', w, host)
      if head[1] then redis.call('ZADD', a, standing_of(head), host) end
    end, mends)
  end
end

-- run, cursor, whether to mend.
function Check.lanes(x, argv)
  local run, mends = argv[1], argv[3] == '1'
  local page = redis.call('SSCAN', Key.run(x, run, 'hosts'), argv[2], 'COUNT', CHECKED)
  local found = {page[1]}
  for _, host in ipairs(page[2]) do check_lane(x, found, run, host, mends) end
  return found
end

-- A place that waits is in 'later' or 'alone', and whatever is there has a place. run, cursor, whether to mend.
function Check.waiting(x, argv)
  local run, mends = argv[1], argv[3] == '1'
  local held = Key.run(x, run, 'held')
  local page = redis.call('HSCAN', held, argv[2], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local number = page[2][i]
    local later, alone = Key.run(x, run, 'later'), Key.run(x, run, 'alone')
    if not redis.call('ZSCORE', later, number) and not redis.call('ZSCORE', alone, number) then
      say(found, 'run ' .. run .. ': a request waits for no moment', function() redis.call('HDEL', held, number) end, mends)
    end
  end
  if argv[2] == '0' then
    local size = redis.call('ZCARD', Key.run(x, run, 'later')) + redis.call('ZCARD', Key.run(x, run, 'alone'))
    if size ~= redis.call('HLEN', held) then found[#found + 1] = 'run ' .. run .. ': moments and places are not as many' end
  end
  return found
end

local function missing(x, record)
  if not redis.call('ZSCORE', Key.worker(x, record.worker), record.id) then return 'is in nobody\'s hands' end
  if not redis.call('ZSCORE', Key.flight(x, record.host), record.id) then return 'is not in flight at its host' end
  local domain = Gate.read(x, record.host).domain
  if redis.call('SISMEMBER', Key.flying_hosts(x, domain), record.host) == 0 then
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
  redis.call('SADD', Key.flying_hosts(x, Gate.read(x, record.host).domain), record.host)
end

local function check_lease(x, found, record, mends)
  local name = 'run ' .. run_of(record.id) .. ', lease ' .. string.format('%d.%d', record.epoch, record.counter)
  if record.told_at > 0 then
    if not redis.call('ZSCORE', Key.returned(x), record.id) then
      say(found, name .. ' was taken back and is not to be told', function()
        redis.call('ZADD', Key.returned(x), x.now, record.id)
      end, mends)
    end
    return
  end
  local what = missing(x, record)
  if what then say(found, name .. ' ' .. what, function() index_lease(x, record) end, mends) end
end

-- cursor, whether to mend.
function Check.leases(x, argv)
  local page = redis.call('HSCAN', Key.leases(x), argv[1], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local id, record = page[2][i], unpack_record(page[2][i + 1])
    if record and string.len(id) == 8 then
      record.id = id
      check_lease(x, found, record, argv[2] == '1')
    else
      say(found, 'a lease cannot be read', function() redis.call('HDEL', Key.leases(x), id) end, argv[2] == '1')
    end
  end
  return found
end

-- What workers hold without a lease: cursor, whether to mend.
function Check.workers(x, argv)
  local mends = argv[2] == '1'
  local page = redis.call('ZSCAN', Key.workers(x), argv[1], 'COUNT', CHECKED)
  local found = {page[1]}
  for i = 1, #page[2], 2 do
    local worker = page[2][i]
    for _, id in ipairs(redis.call('ZRANGE', Key.worker(x, worker), 0, -1)) do
      if redis.call('HEXISTS', Key.leases(x), id) == 0 then
        say(found, 'worker ' .. worker .. ': holds what is not leased', function()
          redis.call('ZREM', Key.worker(x, worker), id)
        end, mends)
      end
    end
  end
  return found
end

-- How many each run has in flight, by its leases and by the count: all at once, or it would not be true. cursor,
-- whether to mend.
function Check.flying(x, argv)
  local found, counted = {'0'}, {}
  if redis.call('HLEN', Key.leases(x)) > COUNTED then return found end
  local leases = redis.call('HGETALL', Key.leases(x))
  for i = 1, #leases, 2 do
    local record = unpack_record(leases[i + 1])
    if record and record.told_at == 0 and string.len(leases[i]) == 8 then
      local run = run_of(leases[i])
      counted[run] = (counted[run] or 0) + 1
    end
  end
  local kept = redis.call('HGETALL', Key.flying(x))
  for i = 1, #kept, 2 do counted[kept[i]] = counted[kept[i]] or 0 end
  for run, count in pairs(counted) do
    local by_count = tonumber(redis.call('HGET', Key.flying(x), run) or 0)
    if by_count ~= count then
      say(found, 'run ' .. run .. ': ' .. by_count .. ' in flight by the count, ' .. count .. ' leases', function()
        redis.call('HSET', Key.flying(x), run, count)
      end, argv[2] == '1')
    end
  end
  return found
end
