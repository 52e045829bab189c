-- Handing out: the best open lanes of a run, behind their gates, with fencing tokens.

local ASKING_S = 0.3   -- a run whose workers asked within this time takes its turn at a host
local SPARE_LANES = 8  -- lanes looked at beyond those that could fill the hand, because some turn out to be closed
local LOOKS = 64       -- so many of them in one call

local Lease = {}

-- A worker's hand while it is being filled.
function Lease.hand(argv)
  local want = tonumber(argv[2])
  return {worker = tonumber(argv[1]), want = want, free = want, lease_s = tonumber(argv[3]), ahead = tonumber(argv[4]),
          slack = tonumber(argv[5]), own = Placement.own(argv[8]), answer = {}, records = {}, deadlines = {}, got = {}}
end

-- How many a run has in flight, those in this hand included.
function Lease.flying(x, hand, run)
  return tonumber(redis.call('HGET', Key.flying(x), run) or 0) + (hand.got[run] or 0)
end

-- Put requests of one host (number, rank, ...) into the hand.
function Lease.hand_out(x, hand, run, gate, members, is_alone)
  local count = #members / 2
  hand.counter = hand.counter or redis.call('HINCRBY', Key.term(x), 'counter', hand.want) - hand.want
  local window = Gate.reserve(x, gate, hand.ahead, hand.slack, hand.counter + 1)
  local deadline = math.max(x.now, window.not_before) + hand.lease_s
  local until_then = in_ms(deadline)
  push(hand.answer, hand.counter + 1, precise(window.not_before), precise(window.not_after), precise(window.delay),
    precise(deadline), is_alone and 1 or 0, Runs.get(x, run).weight, gate.host)
  local number = tonumber(run)
  local prefix = string.char(math.floor(number / 65536), math.floor(number / 256) % 256, number % 256)
  local record = {epoch = x.epoch, worker = hand.worker, is_alone = is_alone, host = gate.host, told_at = 0}
  local ids, flight, records, deadlines = {}, {}, hand.records, hand.deadlines
  for i = 1, count do
    local id = prefix .. members[2 * i - 1]
    hand.counter = hand.counter + 1
    record.counter, record.rank = hand.counter, tonumber(members[2 * i])
    ids[i] = id
    flight[2 * i - 1], flight[2 * i] = until_then, id
    local at = #records
    records[at + 1], records[at + 2] = id, pack_record(record)
    deadlines[at + 1], deadlines[at + 2] = until_then, id
  end
  push(hand.answer, table.concat(ids))
  redis.call('ZADD', Key.flight(x, gate.host), unpack(flight))
  local flying = Key.flying_hosts(x, gate.domain)
  if redis.call('SISMEMBER', flying, gate.host) == 0 then redis.call('SADD', flying, gate.host) end
  hand.first_deadline = math.min(hand.first_deadline or deadline, deadline)
  hand.free = hand.free - count
  hand.got[run] = (hand.got[run] or 0) + count
end

-- What is the same for all of a hand is written once.
function Lease.close_hand(x, hand)
  if #hand.records == 0 then return end
  redis.call('HSET', Key.leases(x), unpack(hand.records))
  redis.call('ZADD', Key.worker(x, hand.worker), unpack(hand.deadlines))
  redis.call('ZADD', Key.workers(x), 'LT', in_ms(hand.first_deadline), hand.worker)
  for run, count in pairs(hand.got) do redis.call('HINCRBY', Key.flying(x), run, count) end
end

-- Whether another run at the host had less, may take more, and has workers that are asking.
local function is_hungrier(x, hand, run, gate, floor, turn)
  local control = Runs.get(x, run)
  if not control or control.state ~= 'running' then return false end
  if math.max(gate.served[run], floor) + 0.999 >= turn then return false end
  if tonumber(redis.call('ZSCORE', Key.asked(x), run) or 0) <= x.now - ASKING_S then return false end
  if redis.call('EXISTS', Key.queue(x, run, gate.host)) == 0 then return false end
  return Lease.flying(x, hand, run) < control.concurrency
end

local function must_wait(x, hand, run, gate, turn)
  local floor = gate.turn - 1
  if #gate.runs < 2 or floor + 0.999 >= turn then return false end
  for _, other in ipairs(gate.runs) do
    if other ~= run and is_hungrier(x, hand, other, gate, floor, turn) then return true end
  end
  return false
end

-- Take from one lane: how many, and whether it still stands among the open ones.
local function from_lane(x, hand, claim, host, limit)
  local run, gate = claim.run, Gate.of_run(x, claim.run, host)
  if Placement.leaves(x, hand, gate) then return 0, true end
  local slots = Gate.room(x, gate)
  local turn = math.max(gate.served[run] or 0, gate.turn - 1)
  if slots > 0 and must_wait(x, hand, run, gate, turn) then return 0, true end
  local queue, got = Key.queue(x, run, host), 0
  if slots > 0 then
    local members = redis.call('ZPOPMIN', queue, math.min(slots, limit))
    got = #members / 2
    if got > 0 then
      if #gate.runs > 1 then -- one that stands alone waits for nobody
        gate.turn = math.max(gate.turn, turn)
        gate.served[run] = turn + got / claim.weight
        redis.call('ZADD', Key.standing(x, host), gate.served[run], run)
      end
      Lease.hand_out(x, hand, run, gate, members, false)
    end
  end
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if not head[1] then redis.call('ZREM', Key.run(x, run, 'a'), host) end
  if got >= slots or gate.delay > 0 then
    Gate.close(x, gate, Gate.opens_at(x, gate) <= x.now)
    return got, false
  end
  if head[1] then redis.call('ZADD', Key.run(x, run, 'a'), standing_of(head), host) end
  return got, head[1] ~= nil
end

-- Fill the hand from the open lanes of a run, best first and among equals its own; how many it got.
function Lease.take(x, hand, claim, count)
  local limit, open = math.min(hand.free, claim.room, count), Key.run(x, claim.run, 'a')
  local before, skipped, looks = hand.free, 0, 2 * limit + LOOKS
  while limit > 0 and looks > 0 do
    local hosts = Placement.lanes(hand, open, skipped, limit + SPARE_LANES)
    if #hosts == 0 then break end
    for _, host in ipairs(hosts) do
      local got, stays = from_lane(x, hand, claim, host, limit)
      limit, looks = limit - got, looks - 1
      if stays then skipped = skipped + 1 end
      if limit <= 0 or looks <= 0 then break end
    end
  end
  claim.room = claim.room - (before - hand.free)
  return before - hand.free
end

-- The gate of a suspect, whose host may have been let go.
local function gate_of_suspect(x, run, place, is_looking)
  local gate = Gate.read(x, place[2])
  if gate.served[run] or is_looking then return gate end
  Lanes.stand(x, run, place[2], Lanes.domain_of(place[2], place[3]))
  return Gate.read(x, place[2])
end

-- The first due suspect of a run whose gate is open, if any; else when the first of their gates opens.
local function open_suspect(x, run, is_looking)
  local next_at, seen = nil, {}
  local due = redis.call('ZRANGE', Key.run(x, run, 'alone'), '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, LOOKS)
  if #due == 0 then return nil end
  local held = redis.call('HMGET', Key.run(x, run, 'held'), unpack(due))
  for i, number in ipairs(due) do
    local place = held[i] and cmsgpack.unpack(held[i])
    if place and not seen[place[2]] then
      seen[place[2]] = true
      local gate = gate_of_suspect(x, run, place, is_looking)
      local opens_at = Gate.opens_at(x, gate)
      if opens_at <= x.now then return {number = number, rank = place[1], gate = gate} end
      next_at = math.min(next_at or opens_at, opens_at)
    end
  end
  return nil, next_at
end

-- Whether a suspect waits for this worker; it is handed out once the worker holds nothing else. One whose gate is
-- closed keeps nobody waiting.
function Lease.suspect(x, hand, claims, is_idle)
  local next_at
  for _, claim in ipairs(claims) do
    local suspect, opens_at = open_suspect(x, claim.run)
    if opens_at then next_at = math.min(next_at or opens_at, opens_at) end
    if suspect then
      if is_idle and claim.room > 0 and Gate.room(x, suspect.gate) > 0 then
        redis.call('ZREM', Key.run(x, claim.run, 'alone'), suspect.number)
        redis.call('HDEL', Key.run(x, claim.run, 'held'), suspect.number)
        Lease.hand_out(x, hand, claim.run, suspect.gate, {suspect.number, suspect.rank}, true)
        redis.call('HSET', Key.lone(x), hand.worker, hand.records[1])
        if suspect.gate.delay > 0 then Gate.close(x, suspect.gate, false) end
      end
      return true
    end
  end
  return false, next_at
end
