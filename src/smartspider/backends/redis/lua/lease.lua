-- Leasing: the best open lanes of a run, behind their gates, with fencing tokens.

local LEASING_S = 0.3   -- a run whose workers leased within this time takes its turn at a host
local SPARE_LANES = 8  -- lanes read beyond those that could fill the batch, because some turn out to be closed
local MAX_LANES = 64       -- lanes read in one call

local Lease = {}

-- The batch of leases for a worker.
function Lease.new_batch(argv)
  local want = tonumber(argv[2])
  return {worker = tonumber(argv[1]), want = want, free = want, lease_s = tonumber(argv[3]), ahead = tonumber(argv[4]),
          slack = tonumber(argv[5]), own = Placement.own(argv[8]), horizon = tonumber(argv[10]), answer = {}, records = {}, deadlines = {}, got = {}}
end

-- Returns the requests of a run in flight, those in this batch included.
function Lease.in_flight(x, batch, run)
  return tonumber(redis.call('HGET', Key.in_flight(x), run) or 0) + (batch.got[run] or 0)
end

-- Adds requests of one host (number, rank, ...) to the batch.
function Lease.grant(x, batch, run, gate, members, is_alone)
  local count = #members / 2
  batch.counter = batch.counter or redis.call('HINCRBY', Key.term(x), 'counter', batch.want) - batch.want
  local window = Gate.reserve(x, gate, batch.ahead, batch.slack, batch.counter + 1)
  Runs.sent(x, run, Runs.get(x, run), gate.host, window.not_after)
  local deadline = math.max(x.now, window.not_before) + batch.lease_s
  local until_then = in_ms(deadline)
  push(batch.answer, batch.counter + 1, precise(window.not_before), precise(window.not_after), precise(window.delay),
    precise(deadline), is_alone and 1 or 0, Runs.get(x, run).weight, gate.host)
  local number = tonumber(run)
  local prefix = string.char(math.floor(number / 65536), math.floor(number / 256) % 256, number % 256)
  local record = {epoch = x.epoch, worker = batch.worker, is_alone = is_alone, host = gate.host, reported_at = 0}
  local ids, flight, records, deadlines = {}, {}, batch.records, batch.deadlines
  for i = 1, count do
    local id = prefix .. members[2 * i - 1]
    batch.counter = batch.counter + 1
    record.counter, record.rank = batch.counter, tonumber(members[2 * i])
    ids[i] = id
    flight[2 * i - 1], flight[2 * i] = until_then, id
    local at = #records
    records[at + 1], records[at + 2] = id, pack_record(record)
    deadlines[at + 1], deadlines[at + 2] = until_then, id
  end
  push(batch.answer, table.concat(ids))
  redis.call('ZADD', Key.flight(x, gate.host), unpack(flight))
  local in_flight = Key.in_flight_hosts(x, gate.domain)
  if redis.call('SISMEMBER', in_flight, gate.host) == 0 then redis.call('SADD', in_flight, gate.host) end
  batch.first_deadline = math.min(batch.first_deadline or deadline, deadline)
  batch.free = batch.free - count
  batch.got[run] = (batch.got[run] or 0) + count
end

-- Writes what is common to the whole batch once.
function Lease.write_batch(x, batch)
  if #batch.records == 0 then return end
  redis.call('HSET', Key.leases(x), unpack(batch.records))
  redis.call('ZADD', Key.worker(x, batch.worker), unpack(batch.deadlines))
  redis.call('ZADD', Key.workers(x), 'LT', in_ms(batch.first_deadline), batch.worker)
  for run, count in pairs(batch.got) do redis.call('HINCRBY', Key.in_flight(x), run, count) end
end

-- Returns whether another run at the host was served less, may take more, and has leasing workers.
local function is_hungrier(x, batch, run, gate, floor, turn)
  local control = Runs.get(x, run)
  if not control or control.state ~= 'running' then return false end
  if math.max(gate.served[run], floor) + 0.999 >= turn then return false end
  if tonumber(redis.call('ZSCORE', Key.asked(x), run) or 0) <= x.now - LEASING_S then return false end
  if redis.call('EXISTS', Key.queue(x, run, gate.host)) == 0 then return false end
  if Runs.opens_at(x, run, control, gate.host) > x.now then return false end
  return Lease.in_flight(x, batch, run) < control.concurrency
end

local function must_wait(x, batch, run, gate, turn)
  local floor = gate.turn - 1
  if #gate.runs < 2 or floor + 0.999 >= turn then return false end
  for _, other in ipairs(gate.runs) do
    if other ~= run and is_hungrier(x, batch, other, gate, floor, turn) then return true end
  end
  return false
end

-- Leases from one lane. Returns how many, and whether it is still among the open ones.
local function from_lane(x, batch, share, host, limit)
  local run, control = share.run, Runs.get(x, share.run)
  local own_opens_at = Runs.opens_at(x, run, control, host)
  if own_opens_at > x.now then
    redis.call('ZREM', Key.run(x, run, 'a'), host)
    redis.call('ZADD', Key.run(x, run, 'w'), in_ms(own_opens_at), host)
    return 0, false
  end
  if control.has_own and Runs.own(control, host) > 0 then limit = 1 end
  local gate = Gate.of_run(x, run, host)
  if Placement.leaves(x, batch, gate) then return 0, true end
  local slots = Gate.room(x, gate)
  local turn = math.max(gate.served[run] or 0, gate.turn - 1)
  if slots > 0 and must_wait(x, batch, run, gate, turn) then return 0, true end
  local queue, got = Key.queue(x, run, host), 0
  if slots > 0 then
    local members = redis.call('ZPOPMIN', queue, math.min(slots, limit))
    got = #members / 2
    if got > 0 then
      if #gate.runs > 1 then -- a single run waits for no other
        gate.turn = math.max(gate.turn, turn)
        gate.served[run] = turn + got / share.weight
        redis.call('ZADD', Key.runs_at(x, host), gate.served[run], run)
      end
      Lease.grant(x, batch, run, gate, members, false)
    end
  end
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if not head[1] then redis.call('ZREM', Key.run(x, run, 'a'), host) end
  if got >= slots or gate.delay > 0 then
    Gate.close(x, gate, Gate.opens_at(x, gate) <= x.now)
    return got, false
  end
  if head[1] then redis.call('ZADD', Key.run(x, run, 'a'), lane_score(head), host) end
  return got, head[1] ~= nil
end

-- Leases from the open lanes of a run, best first and among equals the worker's own. Returns how many.
function Lease.take(x, batch, share, count)
  local limit, open = math.min(batch.free, share.room, count), Key.run(x, share.run, 'a')
  local before, skipped, looks = batch.free, 0, 2 * limit + MAX_LANES
  while limit > 0 and looks > 0 do
    local hosts = Placement.lanes(batch, open, skipped, limit + SPARE_LANES)
    if #hosts == 0 then break end
    for _, host in ipairs(hosts) do
      local got, stays = from_lane(x, batch, share, host, limit)
      limit, looks = limit - got, looks - 1
      if stays then skipped = skipped + 1 end
      if limit <= 0 or looks <= 0 then break end
    end
  end
  share.room = share.room - (before - batch.free)
  return before - batch.free
end

-- Leases the next windows of a closed host. Runs that queue for the same host get one window at a time, in turn.
local function ahead_from_lane(x, batch, share, host, limit)
  local run, gate = share.run, Gate.of_run(x, share.run, host)
  local slots = Gate.room_ahead(x, gate, batch)
  local turn = math.max(gate.served[run] or 0, gate.turn - 1)
  if slots > 0 and #gate.runs > 1 then slots = must_wait(x, batch, run, gate, turn) and 0 or 1 end
  if slots <= 0 then return 0 end
  local queue = Key.queue(x, run, host)
  local members = redis.call('ZPOPMIN', queue, math.min(slots, limit))
  local got = #members / 2
  if #gate.runs > 1 then
    gate.turn = math.max(gate.turn, turn)
    gate.served[run] = turn + got / share.weight
    redis.call('ZADD', Key.runs_at(x, host), gate.served[run], run)
  end
  for i = 1, #members, 2 do Lease.grant(x, batch, run, gate, {members[i], members[i + 1]}, false) end
  if redis.call('EXISTS', queue) == 0 then redis.call('ZREM', Key.run(x, run, 'w'), host) end
  Gate.close(x, gate, false)
  return got
end

-- Leases windows of closed lanes that begin within the horizon, the first ones first; hosts of other workers are left
-- to them.
function Lease.take_ahead(x, batch, share)
  local limit = math.min(batch.free, share.room)
  if limit <= 0 or Runs.get(x, share.run).has_own then return 0 end
  local before, last = batch.free, in_ms(x.now + batch.horizon)
  local closed = redis.call('ZRANGE', Key.run(x, share.run, 'w'), '-inf', last, 'BYSCORE', 'LIMIT', 0, limit)
  for _, host in ipairs(closed) do
    if Placement.grace(x, batch, host) == 0 then
      limit = limit - ahead_from_lane(x, batch, share, host, limit)
      if limit <= 0 then break end
    end
  end
  share.room = share.room - (before - batch.free)
  return before - batch.free
end

-- Returns the gate of a suspect, whose host may have been evicted.
local function gate_of_suspect(x, run, place, is_looking)
  local gate = Gate.read(x, place[2])
  if gate.served[run] or is_looking then return gate end
  Lanes.stand(x, run, place[2], Lanes.domain_of(place[2], place[3]))
  return Gate.read(x, place[2])
end

-- Returns the first due suspect of a run whose gate is open, if any; otherwise when the first of their gates opens.
local function open_suspect(x, run, is_looking)
  local next_at, seen = nil, {}
  local due = redis.call('ZRANGE', Key.run(x, run, 'alone'), '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, MAX_LANES)
  if #due == 0 then return nil end
  local held = redis.call('HMGET', Key.run(x, run, 'held'), unpack(due))
  for i, number in ipairs(due) do
    local place = held[i] and cmsgpack.unpack(held[i])
    if place and not seen[place[2]] then
      seen[place[2]] = true
      local gate = gate_of_suspect(x, run, place, is_looking)
      local opens_at = math.max(Gate.opens_at(x, gate), Runs.opens_at(x, run, Runs.get(x, run), place[2]))
      if opens_at <= x.now then return {number = number, rank = place[1], gate = gate} end
      next_at = math.min(next_at or opens_at, opens_at)
    end
  end
  return nil, next_at
end

-- Returns whether a suspect waits for this worker; it is leased once the worker holds nothing else. One whose gate is
-- closed is not waited for.
function Lease.suspect(x, batch, shares, is_idle)
  local next_at
  for _, share in ipairs(shares) do
    local suspect, opens_at = open_suspect(x, share.run)
    if opens_at then next_at = math.min(next_at or opens_at, opens_at) end
    if suspect then
      if is_idle and share.room > 0 and Gate.room(x, suspect.gate) > 0 then
        redis.call('ZREM', Key.run(x, share.run, 'alone'), suspect.number)
        redis.call('HDEL', Key.run(x, share.run, 'held'), suspect.number)
        Lease.grant(x, batch, share.run, suspect.gate, {suspect.number, suspect.rank}, true)
        redis.call('HSET', Key.lone(x), batch.worker, batch.records[1])
        if suspect.gate.delay > 0 then Gate.close(x, suspect.gate, false) end
      end
      return true
    end
  end
  return false, next_at
end
