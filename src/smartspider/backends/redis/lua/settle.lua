-- Ending leases: acked, postponed, released, returned by a leaving worker, or reclaimed.

local REPORT_AGAIN_S = 30   -- reclaimed leases that are neither queued nor removed are reported again after this time
local GRACE_S = 30    -- after a shard was armed again its workers get this long to renew
local WORKERS = 100   -- workers checked for expired leases in one call

local Settle = {}

-- Returns those of the leases (id, epoch, counter ... from `at`) that are still held, and how many are not.
function Settle.own(x, argv, at, step)
  local ids, own, stale = {}, {}, 0
  for i = at, #argv, step do ids[#ids + 1] = argv[i] end
  if #ids == 0 then return own, 0 end
  local packed = redis.call('HMGET', Key.leases(x), unpack(ids))
  for i, id in ipairs(ids) do
    local first = at + (i - 1) * step
    local record = packed[i] and unpack_record(packed[i])
    if record and record.reported_at == 0 and record.counter == tonumber(argv[first + 2])
       and record.epoch == tonumber(argv[first + 1]) then
      record.id, record.at = id, first
      own[#own + 1] = record
    else
      stale = stale + 1
    end
  end
  return own, stale
end

function Settle.count_stale(x, stale)
  if stale > 0 then redis.call('HINCRBY', Key.stats(x), 'stale', stale) end
end

-- Returns the refused calls since the shard was filled: ends and renewals of leases that were not held, calls of old
-- leaders.
function Settle.refusals(x)
  local counted = redis.call('HMGET', Key.stats(x), 'stale', 'old_epoch')
  return {tonumber(counted[1] or 0), tonumber(counted[2] or 0)}
end

local function each(groups, command, key_of)
  for name, members in pairs(groups) do redis.call(command, key_of(name), unpack(members)) end
end

-- Ends leases; their hosts, workers and runs have a free slot. Returns the hosts to reopen.
function Settle.free(x, own)
  if #own == 0 then return {} end
  local ids, workers, runs, hosts, lone = {}, {}, {}, {}, {}
  for i, lease in ipairs(own) do
    local id, run = lease.id, run_of(lease.id)
    local by_worker, by_host = listed(workers, lease.worker), listed(hosts, lease.host)
    ids[i] = id
    by_worker[#by_worker + 1] = id
    by_host[#by_host + 1] = id
    runs[run] = (runs[run] or 0) + 1
    if lease.is_alone then lone[#lone + 1] = tostring(lease.worker) end
  end
  redis.call('HDEL', Key.leases(x), unpack(ids))
  if #lone > 0 then redis.call('HDEL', Key.lone(x), unpack(lone)) end
  each(workers, 'ZREM', function(worker) return Key.worker(x, worker) end)
  each(hosts, 'ZREM', function(host) return Key.flight(x, host) end)
  for run, count in pairs(runs) do
    if redis.call('HINCRBY', Key.in_flight(x), run, -count) <= 0 then redis.call('HDEL', Key.in_flight(x), run) end
  end
  return hosts
end

function Settle.reopen(x, hosts)
  for host in pairs(hosts) do Gate.freed(x, host) end
end

-- The rows are closed. is_unused: they were closed before anything was sent, so their slots are free again.
function Settle.ack(x, argv, is_unused)
  local own, stale = Settle.own(x, argv, 1, 3)
  local hosts = Settle.free(x, own)
  if is_unused then
    for _, lease in ipairs(own) do Gate.undo(x, lease.host, lease.counter) end
  end
  Settle.reopen(x, hosts)
  Settle.count_stale(x, stale)
  return #own
end

-- Queues unused requests again, as they were.
local function give_back(x, own)
  local hosts = Settle.free(x, own)
  for _, lease in ipairs(own) do
    local run = run_of(lease.id)
    local control = Runs.get(x, run)
    if control then
      if control.has_own then redis.call('HDEL', Key.run(x, run, 'sent'), lease.host) end -- its slot was not used
      lease.due = 0
      Lanes.put(x, run, number_of(lease.id), lease)
    end
  end
  Settle.reopen(x, hosts)
  return #own
end

function Settle.release(x, argv)
  local own, stale = Settle.own(x, argv, 1, 3)
  Settle.count_stale(x, stale)
  return give_back(x, own)
end

-- id, epoch, counter, rank, due ...
function Settle.postpone(x, argv)
  local own, stale = Settle.own(x, argv, 1, 5)
  local hosts = Settle.free(x, own)
  for _, lease in ipairs(own) do
    local run, place = run_of(lease.id), Lanes.place(lease.host, argv[lease.at + 3], argv[lease.at + 4])
    if Runs.get(x, run) then Lanes.put(x, run, number_of(lease.id), place) end
  end
  Settle.reopen(x, hosts)
  Settle.count_stale(x, stale)
  return #own
end

-- Returns the records of those ids that are leased.
local function records(x, ids)
  local found = {}
  if #ids == 0 then return found end
  for i, packed in ipairs(redis.call('HMGET', Key.leases(x), unpack(ids))) do
    if packed then
      local record = unpack_record(packed)
      if record then
        record.id = ids[i]
        found[#found + 1] = record
      end
    end
  end
  return found
end

-- worker, maximum number per call, and the id of a lease that stays, if any.
function Settle.leave(x, argv)
  local ids = {}
  for _, id in ipairs(redis.call('ZRANGE', Key.worker(x, argv[1]), 0, tonumber(argv[2]) - 1)) do
    if id ~= argv[3] then ids[#ids + 1] = id end
  end
  return give_back(x, records(x, ids))
end

-- Extends the leases still held. Returns '1' for each that is, '0' for each that is not.
function Settle.renew(x, argv)
  local deadline = in_ms(x.now + tonumber(argv[1]))
  local own, stale = Settle.own(x, argv, 2, 3)
  local kept, workers, hosts, answer = {}, {}, {}, {}
  for _, lease in ipairs(own) do
    kept[lease.at] = true
    push(listed(workers, lease.worker), deadline, lease.id)
    push(listed(hosts, lease.host), deadline, lease.id)
  end
  each(workers, 'ZADD', function(worker) return Key.worker(x, worker) end)
  each(hosts, 'ZADD', function(host) return Key.flight(x, host) end)
  Settle.count_stale(x, stale)
  for i = 2, #argv, 3 do answer[#answer + 1] = kept[i] and '1' or '0' end
  return table.concat(answer)
end

-- Like renew, without extending.
function Settle.held(x, argv)
  local kept, answer = {}, {}
  for _, lease in ipairs((Settle.own(x, argv, 1, 3))) do kept[lease.at] = true end
  for i = 1, #argv, 3 do answer[#answer + 1] = kept[i] and '1' or '0' end
  return table.concat(answer)
end

-- Returns ids past their deadline, then those of dead workers, and the workers that were checked.
local function lost(x, limit, argv)
  local ids, seen, late = {}, {}, {}
  if x.now >= x.armed_at + GRACE_S then
    late = redis.call('ZRANGE', Key.workers(x), '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, WORKERS)
  end
  local function gather(worker, from, to, ...)
    if #ids >= limit then return end
    for _, id in ipairs(redis.call('ZRANGE', Key.worker(x, worker), from, to, ...)) do
      if not seen[id] and #ids < limit then
        seen[id] = true
        ids[#ids + 1] = id
      end
    end
  end
  for _, worker in ipairs(late) do gather(worker, '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, limit) end
  for i = 2, #argv do
    gather(argv[i], 0, limit - 1)
    late[#late + 1] = argv[i]
  end
  return ids, late
end

local function see_deadline(x, worker)
  local first = redis.call('ZRANGE', Key.worker(x, worker), 0, 0, 'WITHSCORES')
  if first[2] then
    redis.call('ZADD', Key.workers(x), first[2], worker)
  else
    redis.call('ZREM', Key.workers(x), worker)
  end
end

local function tell(answer, x, record, is_new)
  local counts = is_new and record.epoch == x.epoch and record.counter > x.first_token
  push(answer, record.id, record.host, record.worker, record.is_alone and 1 or 0, counts and 1 or 0)
end

-- Returns reported leases that were not queued since: the receiver may have counted them before it died.
local function tell_again(answer, x, limit)
  local ids = redis.call('ZRANGE', Key.returned(x), '-inf', x.now - REPORT_AGAIN_S, 'BYSCORE', 'LIMIT', 0, limit)
  if #ids == 0 then return end
  redis.call('ZREM', Key.returned(x), unpack(ids))
  for _, record in ipairs(records(x, ids)) do
    redis.call('ZADD', Key.returned(x), x.now, record.id)
    tell(answer, x, record, false)
  end
end

-- Reclaims leases past their deadline and those of dead workers: limit, dead workers ... They stay live until they
-- are queued again or removed.
function Settle.reclaim(x, argv)
  local limit, answer = tonumber(argv[1]), {}
  tell_again(answer, x, limit)
  local ids, workers = lost(x, limit, argv)
  local own = records(x, ids)
  local hosts = Settle.free(x, own)
  for _, lease in ipairs(own) do
    lease.reported_at = x.now
    redis.call('HSET', Key.leases(x), lease.id, pack_record(lease))
    redis.call('ZADD', Key.returned(x), x.now, lease.id)
    tell(answer, x, lease, true)
  end
  for _, worker in ipairs(workers) do see_deadline(x, worker) end
  Settle.reopen(x, hosts)
  return answer
end

-- Reclaimed leases were counted: count, ids ..., then those of them to queue, as for an offer.
function Settle.requeue(x, argv)
  local count = tonumber(argv[1])
  for i = 2, count + 1 do
    local packed = redis.call('HGET', Key.leases(x), argv[i])
    local record = packed and unpack_record(packed)
    if record and record.reported_at > 0 then redis.call('HDEL', Key.leases(x), argv[i]) end
    redis.call('ZREM', Key.returned(x), argv[i])
  end
  if #argv > count + 1 then return Lanes.offer(x, argv, count + 2) end
  return 0
end
