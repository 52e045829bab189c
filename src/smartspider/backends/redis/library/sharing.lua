-- How runs share the places in a worker's hand: each up to its share by weight, then the rest to who can use it.

local NEXT_LANES = 8   -- closed lanes looked at for when to come back

local Sharing = {}

-- Who is next where a place cannot be divided: the run that had least, by its weight. No run falls behind by more
-- than one, so none gathers a claim.
local function in_order(turns, claims)
  local order = {}
  for i, claim in ipairs(claims) do order[i] = {claim = claim, served = math.max(claim.served, turns.turn - 1), i = i} end
  table.sort(order, function(one, other)
    if one.served ~= other.served then return one.served < other.served end
    return one.i < other.i
  end)
  for i, entry in ipairs(order) do order[i] = entry.claim end
  return order
end

local function charge(turns, claim, count)
  local served = math.max(claim.served, turns.turn - 1)
  turns.turn = math.max(turns.turn, served)
  claim.served = served + count / claim.weight
end

local function all_weights(claims)
  local weights = 0
  for _, claim in ipairs(claims) do weights = weights + claim.weight end
  return weights
end

-- Places by weight; where there are too few of them, one for each of the first.
local function divided(free, claims)
  local weights, parts, has_any = all_weights(claims), {}, false
  for _, claim in ipairs(claims) do
    parts[claim.run] = math.floor(free * claim.weight / weights)
    has_any = has_any or parts[claim.run] > 0
  end
  if has_any then return parts end
  parts = {}
  for i = 1, math.min(free, #claims) do parts[claims[i].run] = 1 end
  return parts
end

-- What each run lacks to its share of all places of the worker, those it holds already included.
local function fair_shares(free, claims, held)
  local places, weights, lacks, behind, sum = free, all_weights(claims), {}, {}, 0
  for _, claim in ipairs(claims) do places = places + (held[claim.run] or 0) end
  for _, claim in ipairs(claims) do
    local lack = math.floor(places * claim.weight / weights) - (held[claim.run] or 0)
    if lack > 0 then
      lacks[claim.run], sum = lack, sum + lack
      behind[#behind + 1] = claim
    end
  end
  if #behind == 0 then return divided(free, claims) end
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

function Sharing.out(x, hand, claims)
  if #claims == 1 then return Lease.take(x, hand, claims[1], hand.free) end
  local turns, able = {turn = 0}, {}
  for _, claim in ipairs(claims) do
    turns.turn = math.max(turns.turn, claim.turn)
    if claim.room > 0 and redis.call('EXISTS', Key.run(x, claim.run, 'a')) == 1 then able[#able + 1] = claim end
  end
  local hungry = in_order(turns, able)
  local grants = fair_shares(hand.free, hungry, #able > 1 and held_by(x, hand.worker) or {})
  while hand.free > 0 and #hungry > 0 do
    local filled = {}
    for _, claim in ipairs(hungry) do
      local grant = grants[claim.run] or 0
      local got = grant > 0 and Lease.take(x, hand, claim, grant) or 0
      charge(turns, claim, got)
      if got == grant then filled[#filled + 1] = claim end
    end
    hungry = in_order(turns, filled)
    grants = divided(hand.free, hungry)
  end
  for _, claim in ipairs(hand.free > 0 and able or {}) do -- one that had to let another go first may take now
    charge(turns, claim, Lease.take(x, hand, claim, hand.free))
  end
end

-- Those of the runs that lease.
local function claims_of(x, hand, argv, turn)
  local claims = {}
  for i = 10, #argv, 3 do
    local run = argv[i]
    local control = Runs.get(x, run)
    if control and control.state == 'running' and Runs.suits(control, argv[9]) then
      local room = control.concurrency - Lease.flying(x, hand, run) - tonumber(argv[i + 2])
      push(claims, {run = run, weight = control.weight, room = room, served = tonumber(argv[i + 1]), turn = turn})
    end
  end
  return claims
end

-- When the first closed lane of a run opens for this worker.
local function next_lane_at(x, hand, run, soonest)
  local looks = hand.own and NEXT_LANES or 1
  local lanes = redis.call('ZRANGE', Key.run(x, run, 'w'), '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, looks, 'WITHSCORES')
  for i = 1, #lanes, 2 do
    local opens_at = tonumber(lanes[i + 1]) / 1000
    if soonest and opens_at >= soonest then break end
    local grace = i < 2 * looks - 1 and Placement.grace(x, hand, lanes[i]) or 0 -- the next one may be its own
    soonest = math.min(soonest or math.huge, opens_at + grace)
  end
  return soonest
end

local function next_at(x, hand, claims, soonest)
  if hand.soonest then soonest = math.min(soonest or math.huge, hand.soonest) end
  for _, claim in ipairs(claims) do
    soonest = next_lane_at(x, hand, claim.run, soonest)
    for _, part in ipairs({'later', 'alone'}) do
      local from = part == 'alone' and '(' .. past_ms(x.now) or '-inf'
      local first = redis.call('ZRANGE', Key.run(x, claim.run, part), from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      if first[2] then soonest = math.min(soonest or math.huge, tonumber(first[2]) / 1000) end
    end
  end
  return soonest
end

-- worker, want, seconds a lease lasts, ahead, slack, what it holds elsewhere, the turn of the runs, its own parts
-- (see placement.lua), its capabilities, then per run: run, how much it was served, how many it has in flight elsewhere. Moment, epoch,
-- next moment ('' for none), then per host: first token, not before, not after, delay, deadline, whether alone, weight of the run, ids.
function Sharing.lease(x, argv)
  local hand = Lease.hand(argv)
  local claims = claims_of(x, hand, argv, tonumber(argv[7]))
  local head = {precise(x.now), x.epoch}
  if #claims == 0 or redis.call('HEXISTS', Key.lone(x), hand.worker) == 1 then return {precise(x.now), x.epoch, ''} end
  local asked = {}
  for _, claim in ipairs(claims) do push(asked, x.now, claim.run) end
  redis.call('ZADD', Key.asked(x), unpack(asked))
  local is_idle = tonumber(argv[6]) == 0 and redis.call('EXISTS', Key.worker(x, hand.worker)) == 0
  local is_taken, soonest = Lease.suspect(x, hand, claims, is_idle)
  if not is_taken then
    if hand.free > 0 then
      for _, claim in ipairs(claims) do Lanes.wake(x, claim.run, hand.free + LOOKS) end
      Sharing.out(x, hand, claims)
    end
    soonest = next_at(x, hand, claims, soonest)
  end
  Lease.close_hand(x, hand)
  head[3] = soonest and precise(soonest) or ''
  for _, part in ipairs(hand.answer) do head[#head + 1] = part end
  return head
end

-- Worker, its capabilities, then runs. What it may find here, without taking it: what it holds, whether that is a suspect, then per run: places
-- of hosts that look open, room under its concurrency, in flight here, whether a suspect is due.
function Sharing.ready(x, argv)
  local worker, capabilities, answer = argv[1], argv[2], {}
  push(answer, redis.call('ZCARD', Key.worker(x, worker)), redis.call('HEXISTS', Key.lone(x), worker))
  for i = 3, #argv do
    local run = argv[i]
    local control = Runs.get(x, run)
    local is_asked = control and control.state == 'running' and Runs.suits(control, capabilities)
    local open = is_asked and redis.call('ZCARD', Key.run(x, run, 'a'))
      + redis.call('ZCOUNT', Key.run(x, run, 'w'), '-inf', past_ms(x.now))
      + redis.call('ZCOUNT', Key.run(x, run, 'later'), '-inf', past_ms(x.now)) or 0
    local flying = tonumber(redis.call('HGET', Key.flying(x), run) or 0)
    push(answer, open, is_asked and control.concurrency or 0, flying, is_asked and open_suspect(x, run, true) and 1 or 0)
  end
  return answer
end
