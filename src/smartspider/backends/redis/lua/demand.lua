-- Queued work of runs, from which the number of wanted workers is computed.

local Demand = {}

-- Returns some of the hosts in a sorted set: all if there are few, otherwise a random selection.
local function some_of(key, count, limit)
  if count <= limit then return redis.call('ZRANGE', key, 0, -1) end
  return redis.call('ZRANDMEMBER', key, limit)
end

-- Returns whether a leasing run is registered at the host; if not, the gate has the settings of the run itself.
local function is_kept(x, gate)
  for _, run in ipairs(gate.runs) do
    local control = Runs.get(x, run)
    if control and SAYS[control.state] then return true end
  end
  return false
end

local function add_lane(x, answer, run, control, host, soon)
  local gate = Gate.read(x, host)
  local per_domain = gate.per_domain or control.per_domain
  local own_delay, own_held = Runs.own(control, host)
  local per_host = is_kept(x, gate) and math.min(gate.per_host, control.per_host) or control.per_host
  push(answer, host, gate.domain, redis.call('ZCARD', Key.queue(x, run, host)), redis.call('ZCARD', Key.flight(x, host)),
    precise(math.max(gate.delay, control.delay, own_delay)), gate.is_on_trial and 1 or per_host,
    per_domain and math.min(per_domain, control.per_domain or per_domain) or -1, math.max(gate.held, own_held) > soon and 1 or 0)
end

local function add_run(x, answer, run, control, limit, soon)
  local a, w, half = Key.run(x, run, 'a'), Key.run(x, run, 'w'), math.floor(limit / 2)
  local open, closed = redis.call('ZCARD', a), redis.call('ZCARD', w)
  local hosts = some_of(a, open, math.max(half, limit - closed))
  for _, host in ipairs(some_of(w, closed, math.max(half, limit - open))) do hosts[#hosts + 1] = host end
  push(answer, open + closed, #hosts)
  for _, host in ipairs(hosts) do add_lane(x, answer, run, control, host, soon) end
end

-- Arguments: the time from which on a held host counts as closed, lanes to read per run, then runs. Returns per run:
-- number of lanes, how many follow, and for each: host, domain, queued, in flight, delay, per host, per domain,
-- whether held.
function Demand.lanes(x, argv)
  local soon, limit, answer = tonumber(argv[1]), tonumber(argv[2]), {}
  for i = 3, #argv do
    local run = argv[i]
    local control = Runs.get(x, run)
    if control then add_run(x, answer, run, control, limit, soon) else push(answer, 0, 0) end
  end
  return answer
end
