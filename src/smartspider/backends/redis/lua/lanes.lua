-- The lanes: a queue per run and host. A non-empty lane is in exactly one of 'a' and 'w'.

local CUT_KEEPS_S = 30 -- a mark that the store has more is not removed so soon after a cut: the caller may not know of the cut

local Lanes = {}

-- Registers a run at a host, from its first request there.
function Lanes.stand(x, run, host, domain)
  if redis.call('ZADD', Key.runs_at(x, host), 'NX', 0, run) == 1 then
    redis.call('SADD', Key.run(x, run, 'hosts'), host)
    Gate.appear(x, host, domain)
    x.gates[host] = nil
  end
end

-- Keeps only the head of a lane. The store has the rest.
local function cut(x, run, host, size, cap)
  if size <= cap then return end
  redis.call('ZREMRANGEBYRANK', Key.queue(x, run, host), cap, -1)
  redis.call('ZADD', Key.run(x, run, 'more'), x.now, host)
end

-- Queues requests (rank, number, rank, number ...). Returns how many are new.
function Lanes.queue(x, run, host, entries, domain, cap)
  local queue = Key.queue(x, run, host)
  local added = redis.call('ZADD', queue, 'NX', unpack(entries))
  if added == 0 then return 0 end
  local size = redis.call('ZCARD', queue)
  if domain and size == added then Lanes.stand(x, run, host, domain) end
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if size > added then
    for i = 2, #entries, 2 do
      if entries[i] == head[1] then redis.call('ZADD', Key.run(x, run, 'a'), 'XX', lane_score(head), host) end
    end
  else
    local opens_at = Gate.opens_at(x, Gate.read(x, host))
    local is_open = opens_at <= x.now
    redis.call('ZADD', Key.run(x, run, is_open and 'a' or 'w'), is_open and lane_score(head) or in_ms(opens_at), host)
  end
  if cap then cut(x, run, host, size, cap) end
  return added
end

-- Adds a request that is due later, or is leased alone. Its host may be evicted until then: its domain, which is the
-- end of its name, is kept by its length.
function Lanes.wait(x, run, number, place)
  local domain = Gate.read(x, place.host).domain
  redis.call('HSET', Key.run(x, run, 'held'), number, cmsgpack.pack({place.rank, place.host, #domain}))
  redis.call('ZADD', Key.run(x, run, place.is_alone and 'alone' or 'later'), in_ms(place.due), number)
end

function Lanes.domain_of(host, length)
  return string.sub(host, -(length or #host))
end

-- Adds a request that is not live: due is '' for at once, and begins with 'a' for one that is leased alone.
function Lanes.place(host, rank, due)
  local is_alone = string.sub(due, 1, 1) == 'a'
  return {host = host, rank = tonumber(rank), is_alone = is_alone,
          due = tonumber(is_alone and string.sub(due, 2) or due) or 0}
end

function Lanes.put(x, run, number, place)
  if place.is_alone or place.due > x.now then return Lanes.wait(x, run, number, place) end
  Lanes.queue(x, run, place.host, {place.rank, number})
end

-- Returns which of the ids are leased, returned, waiting or suspect.
local function live(x, run, ids)
  local numbers, found = {}, {}
  for i, id in ipairs(ids) do numbers[i] = number_of(id) end
  local leased = redis.call('HMGET', Key.leases(x), unpack(ids))
  local held = redis.call('HMGET', Key.run(x, run, 'held'), unpack(numbers))
  for i, id in ipairs(ids) do found[id] = leased[i] or held[i] end
  return found
end

-- From `at`: run, cap, then per host: name, domain, count and as many of id, rank, due. Returns how many were not
-- live; -1 if the run was deleted.
function Lanes.offer(x, argv, at)
  local run, cap = argv[at], tonumber(argv[at + 1])
  if not Runs.get(x, run) then return -1 end
  local ids, i = {}, at + 2
  while i <= #argv do
    local past = i + 3 + 3 * tonumber(argv[i + 2])
    for entry = i + 3, past - 1, 3 do ids[#ids + 1] = argv[entry] end
    i = past
  end
  if #ids == 0 then return 0 end
  local is_live, new = live(x, run, ids), 0
  i = at + 2
  while i <= #argv do
    local host, past, entries = argv[i], i + 3 + 3 * tonumber(argv[i + 2]), {}
    for entry = i + 3, past - 1, 3 do
      local id, due = argv[entry], argv[entry + 2]
      if not is_live[id] then
        local size = #entries
        if due == '' then
          entries[size + 1], entries[size + 2] = argv[entry + 1], number_of(id)
        else
          Lanes.stand(x, run, host, argv[i + 1])
          is_live[id], new = true, new + Lanes.due(x, run, id, Lanes.place(host, argv[entry + 1], due))
        end
      end
    end
    if #entries > 0 then new = new + Lanes.queue(x, run, host, entries, argv[i + 1], cap) end
    i = past
  end
  return new
end

-- Adds a waiting request, unless it is queued.
function Lanes.due(x, run, id, place)
  local number = number_of(id)
  if redis.call('ZSCORE', Key.queue(x, run, place.host), number) then return 0 end
  Lanes.put(x, run, number, place)
  return 1
end

-- Opens due lanes and queues due requests of a run, some at a time.
function Lanes.wake(x, run, limit)
  local waiting, later = Key.run(x, run, 'w'), Key.run(x, run, 'later')
  for _, host in ipairs(redis.call('ZRANGE', waiting, '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, limit)) do
    redis.call('ZREM', waiting, host)
    Gate.open_lane(x, run, host)
  end
  local due = redis.call('ZRANGE', later, '-inf', past_ms(x.now), 'BYSCORE', 'LIMIT', 0, limit)
  if #due == 0 then return end
  local held, by_host, domains = redis.call('HMGET', Key.run(x, run, 'held'), unpack(due)), {}, {}
  redis.call('ZREM', later, unpack(due))
  redis.call('HDEL', Key.run(x, run, 'held'), unpack(due))
  for i, number in ipairs(due) do
    if held[i] then
      local place = cmsgpack.unpack(held[i])
      push(listed(by_host, place[2]), place[1], number)
      domains[place[2]] = Lanes.domain_of(place[2], place[3])
    end
  end
  for host, entries in pairs(by_host) do Lanes.queue(x, run, host, entries, domains[host]) end
end

-- Sets whether the store has more of a lane than was offered, as seen by the leader.
function Lanes.mark(x, run, host, has_more)
  local key = Key.run(x, run, 'more')
  if has_more then return redis.call('ZADD', key, 'NX', 0, host) end
  local cut_at = redis.call('ZSCORE', key, host)
  if cut_at and tonumber(cut_at) + CUT_KEEPS_S < x.now then redis.call('ZREM', key, host) end
end
