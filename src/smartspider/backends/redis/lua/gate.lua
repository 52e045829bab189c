-- The gate of a host: whether and when a request may be sent. Settings of a run apply while it is registered there.

local WINDOW_SHARE, WINDOW_MIN_S = 0.05, 0.005
local FULL_S = 60      -- a full host opens when a lease ends; this is only an upper bound
local CROWD = 16       -- hosts opened when a slot under the limit of their domain is free
local REST_S = 120     -- an idle host is kept this long, and at least as long as any run waits between two requests

local Runs, Gate = {}, {}
local SAYS = {running = true, stopping = true, paused = true}

-- Returns the control of a run; false if it was deleted.
function Runs.get(x, run)
  local control = x.runs[run]
  if control == nil then
    local packed = redis.call('HGET', Key.controls(x), run)
    control = false
    if packed then
      local c = cmsgpack.unpack(packed)
      control = {state = c[1], weight = c[2], concurrency = c[3], delay = c[4], per_host = c[5],
                 per_domain = c[6] >= 0 and c[6] or nil, needs = c[7], own_delay = c[8], own_gates = c[9] or nil}
      control.has_own = control.own_delay > 0 or control.own_gates ~= nil
    end
    x.runs[run] = control
  end
  return control
end

-- Returns whether a worker with these capabilities (names, separated by spaces) may lease requests of a run. Nearly
-- always both are equal, so that is compared first.
function Runs.suits(control, capabilities)
  local needs = control.needs
  if needs == capabilities then return true end
  for need in string.gmatch(needs, '%S+') do
    if not string.find(' ' .. capabilities .. ' ', ' ' .. need .. ' ', 1, true) then return false end
  end
  return true
end

-- Returns the delay that applies to a run alone at a host, and the end of the hold.
function Runs.own(control, host)
  local own = control.own_gates and control.own_gates[host]
  if not own then return control.own_delay, 0 end
  return math.max(control.own_delay, own[1]), own[2]
end

-- Returns when a run may send to a host again, by what applies to this run alone.
function Runs.opens_at(x, run, control, host)
  if not control.has_own then return 0 end
  local delay, held = Runs.own(control, host)
  local sent = delay > 0 and redis.call('HGET', Key.run(x, run, 'sent'), host)
  return math.max(held, sent and tonumber(sent) + delay or 0)
end

-- Keeps the last slot of a run at a host, if a delay applies to this run alone.
function Runs.sent(x, run, control, host, not_after)
  if control.has_own and Runs.own(control, host) > 0 then
    redis.call('HSET', Key.run(x, run, 'sent'), host, precise(not_after))
  end
end

-- A run with a delay of its own asks nothing of the others; without others, its redirects are spaced as usual.
local function strictest(x, gate)
  local delay, own
  for _, run in ipairs(gate.runs) do
    local control = Runs.get(x, run)
    if control and SAYS[control.state] then
      if control.own_delay > 0 then own = control.delay else delay = math.max(delay or 0, control.delay) end
      gate.per_host = math.min(gate.per_host or control.per_host, control.per_host)
      if control.per_domain then
        gate.per_domain = math.min(gate.per_domain or control.per_domain, control.per_domain)
      end
    end
  end
  gate.delay = math.max(gate.delay, delay or own or 0)
  gate.per_host = gate.per_host or 1
end

-- Returns a stored number; `else_` for an invalid one, so that it opens no gate and fails no call.
local function figure(text, else_)
  if not text then return 0 end
  local number = tonumber(text)
  return number and math.abs(number) < math.huge and number or else_
end

function Gate.read(x, host)
  local gate = x.gates[host]
  if gate then return gate end
  local row = redis.call('HMGET', Key.gate(x, host),
    'sent', 'robots', 'adaptive', 'operator', 'held', 'openings', 'turn', 'domain', 'changed')
  gate = {host = host, sent = figure(row[1], x.armed_at), held = figure(row[5], x.now + FULL_S),
          turn = figure(row[7], 0), is_on_trial = figure(row[6], 1) > 0, domain = row[8] or host,
          changed = figure(row[9], 0), runs = {}, served = {}}
  gate.delay = math.max(figure(row[2], FULL_S), figure(row[3], FULL_S), figure(row[4], FULL_S))
  gate.is_slow = gate.delay > 0
  local lanes = redis.call('ZRANGE', Key.runs_at(x, host), 0, -1, 'WITHSCORES')
  for i = 1, #lanes, 2 do
    push(gate.runs, lanes[i])
    gate.served[lanes[i]] = tonumber(lanes[i + 1])
  end
  strictest(x, gate)
  x.gates[host] = gate
  return gate
end

-- Creates a gate. Its host may have been evicted: its runs are registered again, and its last slot is assumed to be
-- the latest of all that are no longer known.
function Gate.appear(x, host, domain)
  if redis.call('HSETNX', Key.gate(x, host), 'domain', domain) == 0 then return end
  if x.rested_at > 0 then redis.call('HSET', Key.gate(x, host), 'sent', precise(x.rested_at)) end
  x.rested = x.rested or redis.call('SMEMBERS', Key.rested(x))
  for _, run in ipairs(x.rested) do
    if redis.call('SISMEMBER', Key.run(x, run, 'hosts'), host) == 1 then
      redis.call('ZADD', Key.runs_at(x, host), 'NX', 0, run)
    end
  end
  x.gates[host] = nil
end

-- Returns the gate for a run that is about to send: its own settings always apply.
function Gate.of_run(x, run, host)
  local gate = Gate.read(x, host)
  if gate.served[run] then return gate end
  redis.call('ZADD', Key.runs_at(x, host), 0, run)
  x.gates[host] = nil
  return Gate.read(x, host)
end

-- Returns the first time at which a slot may start. Slots from before this shard was armed are uncertain: one delay
-- and one window pass first.
function Gate.opens_at(x, gate)
  local sent = gate.sent
  if gate.delay > 0 then sent = math.max(sent, x.known_at) end
  return math.max(sent + gate.delay, gate.held)
end

local function in_flight(x, key)
  return redis.call('ZCOUNT', key, '(' .. past_ms(x.now), '+inf')
end

-- Returns how many more requests the host may have in flight.
local function left_of(x, gate)
  gate.is_crowded = false
  local left = (gate.is_on_trial and 1 or gate.per_host) - in_flight(x, Key.flight(x, gate.host))
  if left > 0 and gate.per_domain then
    local of_domain = 0
    for _, host in ipairs(redis.call('SMEMBERS', Key.in_flight_hosts(x, gate.domain))) do
      local count = in_flight(x, Key.flight(x, host))
      of_domain = of_domain + count
      if count == 0 then redis.call('SREM', Key.in_flight_hosts(x, gate.domain), host) end
    end
    gate.is_crowded = gate.per_domain - of_domain <= left -- also once the rest is taken: then its siblings make room
    left = math.min(left, gate.per_domain - of_domain)
  end
  return left
end

-- Returns how many requests may be sent to the host now.
function Gate.room(x, gate)
  gate.is_crowded = false
  if Gate.opens_at(x, gate) > x.now then return 0 end
  local left = left_of(x, gate)
  if gate.delay > 0 then return math.min(left, 1) end
  return left
end

-- Returns the length of a window; `slack` is the uncertainty of its taker about the time.
local function width_of(gate, slack)
  return math.min(math.max(gate.delay * WINDOW_SHARE, WINDOW_MIN_S), WINDOW_MAX_S) + slack
end

-- Returns how many windows of a host with a delay begin within the horizon, and end before the lead does.
function Gate.room_ahead(x, gate, batch)
  if gate.delay <= 0 then return 0 end
  local width = width_of(gate, batch.slack)
  Clock.want(x, batch.horizon + width)
  local start = math.max(x.now + batch.ahead, Gate.opens_at(x, gate))
  local wait = x.now + math.min(batch.horizon, x.lead - width) - start
  if wait < 0 then return 0 end
  return math.min(1 + math.floor(wait / (gate.delay + width)), left_of(x, gate))
end

-- Reserves the next slot; the one after it starts a window and a delay later. `ahead` is the time the caller needs
-- until it can send, `slack` its uncertainty about the time: the window is wider by that, so no gap is shorter. It
-- ends before the lead does, since that is how long unknown slots are waited for. `by` identifies the taker, which
-- can undo the reservation as long as no other slot was taken since.
function Gate.reserve(x, gate, ahead, slack, by)
  local start = math.max(x.now, Gate.opens_at(x, gate))
  local window = {not_before = x.now, not_after = x.now, delay = 0}
  if gate.delay > 0 or start > x.now then
    start = math.max(start, x.now + ahead)
    local width = width_of(gate, slack)
    local last = x.now + x.lead
    Clock.want(x, start + width - x.now)
    window = {not_before = math.min(start, last), not_after = math.min(start + width, last),
              delay = gate.delay > 0 and gate.delay or WINDOW_MIN_S}
  end
  local before = gate.sent
  gate.sent = math.max(gate.sent, window.not_after)
  local key, sent = Key.gate(x, gate.host), precise(gate.sent)
  if window.delay > 0 then
    redis.call('HSET', key, 'sent', sent, 'turn', gate.turn, 'before', before, 'by', by)
  elseif #gate.runs > 1 then
    redis.call('HSET', key, 'sent', sent, 'turn', gate.turn)
  else
    redis.call('HSET', key, 'sent', sent)
  end
  return window
end

-- Gives an unused slot back, unless another one was taken since.
function Gate.undo(x, host, by)
  local key = Key.gate(x, host)
  local row = redis.call('HMGET', key, 'by', 'before')
  if row[1] and tonumber(row[1]) == by then
    redis.call('HSET', key, 'sent', row[2])
    redis.call('HDEL', key, 'by')
    x.gates[host] = nil
  end
end

-- Closes the lanes of a host whose gate is closed.
function Gate.close(x, gate, is_full)
  local wake_at = Gate.opens_at(x, gate)
  if is_full then wake_at = math.max(wake_at, x.now + FULL_S) end
  wake_at = in_ms(wake_at)
  for _, run in ipairs(gate.runs) do
    local is_open = redis.call('ZREM', Key.run(x, run, 'a'), gate.host) == 1
    redis.call('ZADD', Key.run(x, run, 'w'), is_open and 'CH' or 'XX', wake_at, gate.host)
  end
  if gate.is_crowded then
    redis.call('SADD', Key.crowded(x, gate.domain), gate.host)
    redis.call('SADD', Key.crowds(x), gate.domain)
  end
end

-- Moves a waiting lane to the open ones.
function Gate.open_lane(x, run, host)
  local head = redis.call('ZRANGE', Key.queue(x, run, host), 0, 0, 'WITHSCORES')
  if head[1] then redis.call('ZADD', Key.run(x, run, 'a'), lane_score(head), host) end
end

-- The host changed: opens all its lanes when the next slot may start.
function Gate.reopen(x, host)
  local gate = Gate.read(x, host)
  if Gate.opens_at(x, gate) > x.now then return Gate.close(x, gate, false) end
  for _, run in ipairs(gate.runs) do
    if redis.call('ZREM', Key.run(x, run, 'w'), host) == 1 then Gate.open_lane(x, run, host) end
  end
end

-- Leases of a host ended. Its siblings may have waited for that.
function Gate.freed(x, host)
  Gate.reopen(x, host)
  if x.has_crowds == nil then x.has_crowds = redis.call('EXISTS', Key.crowds(x)) == 1 end
  if not x.has_crowds then return end
  local domain = Gate.read(x, host).domain
  local siblings = redis.call('SPOP', Key.crowded(x, domain), CROWD)
  for _, sibling in ipairs(siblings) do
    if sibling ~= host then Gate.reopen(x, sibling) end
  end
  if #siblings < CROWD then redis.call('SREM', Key.crowds(x), domain) end
end

-- Sets a host to its state in the store. Rows arrive in any order: an older one is ignored, and an equally old one
-- never shortens a hold. While a shard is being filled nothing else writes, and the store is right.
function Gate.set(x, row)
  local host, held, changed = row[1], tonumber(row[6]), tonumber(row[8])
  local key = Key.gate(x, host)
  if x.is_armed then
    local known = redis.call('HMGET', key, 'changed', 'held')
    local last = figure(known[1], 0)
    if changed < last then return end
    if changed == last then held = math.max(held, figure(known[2], 0)) end
  end
  Gate.appear(x, host, row[2])
  redis.call('HSET', key, 'domain', row[2], 'robots', row[3], 'adaptive', row[4], 'operator', row[5],
    'held', held, 'openings', row[7], 'changed', row[8])
  x.gates[host] = nil
  Gate.reopen(x, host)
end

-- Returns how long after its last slot a host is kept at least.
local function kept_s(x)
  if not x.kept_s then
    x.kept_s = 0
    for _, run in ipairs(redis.call('HKEYS', Key.controls(x))) do
      local control = Runs.get(x, run)
      if control then x.kept_s = math.max(x.kept_s, control.delay) end
    end
    x.kept_s = x.kept_s + REST_S
  end
  return x.kept_s
end

-- Returns whether anything of the host is queued, in the store only, or in flight.
local function is_wanted(x, gate)
  if redis.call('EXISTS', Key.flight(x, gate.host)) == 1 then return true end
  for _, run in ipairs(gate.runs) do
    if redis.call('EXISTS', Key.queue(x, run, gate.host)) == 1 then return true end
    if redis.call('ZSCORE', Key.run(x, run, 'more'), gate.host) then return true end
  end
  return false
end

-- Evicts an idle host, unless that would lose anything: its settings from the store arrive only once and are kept,
-- and a recently changed row may still be needed. Its runs are known by their host sets.
function Gate.rest(x, host)
  local gate = Gate.read(x, host)
  if is_wanted(x, gate) then return false end
  redis.call('SREM', Key.in_flight_hosts(x, gate.domain), host)
  if gate.is_slow or gate.is_on_trial or gate.held > x.now then return false end
  if math.max(gate.sent, gate.changed) + kept_s(x) >= x.now then return false end
  redis.call('UNLINK', Key.gate(x, host), Key.runs_at(x, host))
  if #gate.runs > 0 then redis.call('SADD', Key.rested(x), unpack(gate.runs)) end
  Clock.rest(x, gate.sent)
  x.gates[host] = nil
  return true
end
