-- Sharing the slots of a worker among runs: each up to its share by weight, then the rest to runs that can use it.

local NEXT_LANES = 8   -- closed lanes read for the next opening
local LEAD_S = 0.02    -- how long before a window begins a worker that leases ahead asks for it

local Sharing = {}

-- The order of runs for slots that cannot be divided: the run that was served least, by its weight, is next. No run
-- falls behind by more than one, so none gathers credit.
local function in_order(turns, shares)
  local order = {}
  for i, share in ipairs(shares) do order[i] = {share = share, served = math.max(share.served, turns.turn - 1), i = i} end
  table.sort(order, function(one, other)
    if one.served ~= other.served then return one.served < other.served end
    return one.i < other.i
  end)
  for i, entry in ipairs(order) do order[i] = entry.share end
  return order
end

local function charge(turns, share, count)
  local served = math.max(share.served, turns.turn - 1)
  turns.turn = math.max(turns.turn, served)
  share.served = served + count / share.weight
end

local function all_weights(shares)
  local weights = 0
  for _, share in ipairs(shares) do weights = weights + share.weight end
  return weights
end

-- Divides slots by weight; if there are too few, one for each of the first runs.
local function divided(free, shares)
  local weights, parts, has_any = all_weights(shares), {}, false
  for _, share in ipairs(shares) do
    parts[share.run] = math.floor(free * share.weight / weights)
    has_any = has_any or parts[share.run] > 0
  end
  if has_any then return parts end
  parts = {}
  for i = 1, math.min(free, #shares) do parts[shares[i].run] = 1 end
  return parts
end

-- Returns what each run lacks to its share of all slots of the worker, those it holds included.
local function fair_shares(free, shares, held)
  local places, weights, lacks, behind, sum = free, all_weights(shares), {}, {}, 0
  for _, share in ipairs(shares) do places = places + (held[share.run] or 0) end
  for _, share in ipairs(shares) do
    local lack = math.floor(places * share.weight / weights) - (held[share.run] or 0)
    if lack > 0 then
      lacks[share.run], sum = lack, sum + lack
      behind[#behind + 1] = share
    end
  end
  if #behind == 0 then return divided(free, shares) end
  if sum <= free then return lacks end
  local parts = divided(free, behind)
  for run, part in pairs(parts) do parts[run] = math.min(part, lacks[run]) end
  return parts
end

local function held_by(x, worker)
  local held = {}
  for _, id in ipairs(redis.call('ZRANGE', Key.worker(x, worker), 0, -1)) do
    local run = run_of(id)
    held[run] = (held[run] or 0) + 1
  end
  return held
end

function Sharing.out(x, batch, shares)
  if #shares == 1 then return Lease.take(x, batch, shares[1], batch.free) end
  local turns, able = {turn = 0}, {}
  for _, share in ipairs(shares) do
    turns.turn = math.max(turns.turn, share.turn)
    if share.room > 0 and redis.call('EXISTS', Key.run(x, share.run, 'a')) == 1 then able[#able + 1] = share end
  end
  local hungry = in_order(turns, able)
  local grants = fair_shares(batch.free, hungry, #able > 1 and held_by(x, batch.worker) or {})
  while batch.free > 0 and #hungry > 0 do
    local filled = {}
    for _, share in ipairs(hungry) do
      local grant = grants[share.run] or 0
      local got = grant > 0 and Lease.take(x, batch, share, grant) or 0
      charge(turns, share, got)
      if got == grant then filled[#filled + 1] = share end
    end
    hungry = in_order(turns, filled)
    grants = divided(batch.free, hungry)
  end
  for _, share in ipairs(batch.free > 0 and able or {}) do -- a run that had to wait for another's turn may take now
    charge(turns, share, Lease.take(x, batch, share, batch.free))
  end
end

-- Leases windows that begin soon with the slots that are left.
function Sharing.ahead(x, batch, shares)
  local turns = {turn = 0}
  for _, share in ipairs(shares) do turns.turn = math.max(turns.turn, share.turn) end
  for _, share in ipairs(in_order(turns, shares)) do charge(turns, share, Lease.take_ahead(x, batch, share)) end
end

-- Returns those of the runs that lease.
local function claims_of(x, batch, argv, turn)
  local shares = {}
  for i = 11, #argv, 3 do
    local run = argv[i]
    local control = Runs.get(x, run)
    if control and control.state == 'running' and Runs.suits(control, argv[9]) then
      local room = control.concurrency - Lease.in_flight(x, batch, run) - tonumber(argv[i + 2])
      push(shares, {run = run, weight = control.weight, room = room, served = tonumber(argv[i + 1]), turn = turn})
    end
  end
  return shares
end

-- Returns when the first closed lane of a run opens for this worker.
local function next_lane_at(x, batch, run, soonest)
  local looks = batch.own and NEXT_LANES or 1
  local lanes = redis.call('ZRANGE', Key.run(x, run, 'w'), '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, looks, 'WITHSCORES')
  for i = 1, #lanes, 2 do
    local opens_at = tonumber(lanes[i + 1]) / 1000
    if batch.horizon > 0 and opens_at > x.now + LEAD_S then opens_at = opens_at - LEAD_S end
    if soonest and opens_at >= soonest then break end
    local grace = i < 2 * looks - 1 and Placement.grace(x, batch, lanes[i]) or 0 -- the next one may be its own
    if grace > 0 then opens_at = math.max(opens_at, x.now + batch.horizon) end -- its owner leases it ahead
    soonest = math.min(soonest or math.huge, opens_at + grace)
  end
  return soonest
end

local function next_at(x, batch, shares, soonest)
  if batch.soonest then soonest = math.min(soonest or math.huge, batch.soonest) end
  for _, share in ipairs(shares) do
    soonest = next_lane_at(x, batch, share.run, soonest)
    for _, part in ipairs({'later', 'alone'}) do
      local from = part == 'alone' and '(' .. past_ms(x.now) or '-inf'
      local first = redis.call('ZRANGE', Key.run(x, share.run, part), from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      if first[2] then soonest = math.min(soonest or math.huge, tonumber(first[2]) / 1000) end
    end
  end
  return soonest
end

-- worker, want, lease duration in seconds, ahead, slack, leases held elsewhere, the turn of the runs, its own
-- partitions (see placement.lua), its capabilities, how far ahead windows may begin, then per run: run, service count, requests in flight elsewhere.
-- Returns time, epoch, next time ('' for none), then per host: first token, not before, not after, delay, deadline,
-- whether alone, weight of the run, ids.
function Sharing.lease(x, argv)
  local batch = Lease.new_batch(argv)
  local shares = claims_of(x, batch, argv, tonumber(argv[7]))
  local head = {precise(x.now), x.epoch}
  if #shares == 0 or redis.call('HEXISTS', Key.lone(x), batch.worker) == 1 then return {precise(x.now), x.epoch, ''} end
  local asked = {}
  for _, share in ipairs(shares) do push(asked, x.now, share.run) end
  redis.call('ZADD', Key.asked(x), unpack(asked))
  local is_idle = tonumber(argv[6]) == 0 and redis.call('EXISTS', Key.worker(x, batch.worker)) == 0
  local is_taken, soonest = Lease.suspect(x, batch, shares, is_idle)
  if not is_taken then
    if batch.free > 0 then
      for _, share in ipairs(shares) do Lanes.wake(x, share.run, batch.free + MAX_LANES) end
      Sharing.out(x, batch, shares)
      if batch.horizon > 0 and batch.free > 0 then Sharing.ahead(x, batch, shares) end
    end
    soonest = next_at(x, batch, shares, soonest)
  end
  Lease.write_batch(x, batch)
  head[3] = soonest and precise(soonest) or ''
  for _, part in ipairs(batch.answer) do head[#head + 1] = part end
  return head
end

-- Worker, its capabilities, how far ahead windows may begin, then runs. Returns what it may find here, without leasing:
-- what it holds, whether that is a suspect, then per run: slots of hosts that seem open, room under its concurrency, in
-- flight here, whether a suspect is due.
function Sharing.ready(x, argv)
  local worker, capabilities, ahead, answer = argv[1], argv[2], tonumber(argv[3]), {}
  push(answer, redis.call('ZCARD', Key.worker(x, worker)), redis.call('HEXISTS', Key.lone(x), worker))
  for i = 4, #argv do
    local run = argv[i]
    local control = Runs.get(x, run)
    local is_asked = control and control.state == 'running' and Runs.suits(control, capabilities)
    local open = is_asked and redis.call('ZCARD', Key.run(x, run, 'a'))
      + redis.call('ZCOUNT', Key.run(x, run, 'w'), '-inf', past_ms(x.now + ahead))
      + redis.call('ZCOUNT', Key.run(x, run, 'later'), '-inf', past_ms(x.now)) or 0
    local in_flight = tonumber(redis.call('HGET', Key.in_flight(x), run) or 0)
    push(answer, open, is_asked and control.concurrency or 0, in_flight, is_asked and open_suspect(x, run, true) and 1 or 0)
  end
  return answer
end
