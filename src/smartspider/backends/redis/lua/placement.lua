-- Assigns hosts to workers, so that connections and DNS answers are reused. All hosts are divided into partitions,
-- and a worker names its own: it takes those first. Hosts that their owner leaves are taken by any worker: at once if
-- the host has no delay, otherwise when its slot has been free for a moment.

local GRACE_S, GRACE_SHARE = 0.1, 0.1 -- how long a free slot is reserved for its owner, and at most this share of the delay
local HOSTS_KNOWN, WORKERS_KNOWN = 20000, 200
local LANES = 256      -- open lanes read to find the worker's own, at most

local Placement = {}
local parts, parts_size = {}, 0
local owns, owns_size = {}, 0

-- The first byte of a hash of its name, see core/workers/host_assignment.py.
local function part_of(host)
  local part = parts[host]
  if not part then
    if parts_size >= HOSTS_KNOWN then parts, parts_size = {}, 0 end
    part = tonumber(string.sub(redis.sha1hex(host), 1, 2), 16)
    parts[host], parts_size = part, parts_size + 1
  end
  return part
end

-- The partitions of a worker, a bit for each; nil for a worker that takes any host.
function Placement.own(mask)
  if mask == '' then return nil end
  local own = owns[mask]
  if not own then
    if owns_size >= WORKERS_KNOWN then owns, owns_size = {}, 0 end
    own = {count = 0}
    for part = 0, 8 * #mask - 1 do
      if math.floor(string.byte(mask, math.floor(part / 8) + 1) / 2 ^ (part % 8)) % 2 == 1 then
        own[part], own.count = true, own.count + 1
      end
    end
    own.spread = 8 * #mask / math.max(own.count, 1)
    owns[mask], owns_size = own, owns_size + 1
  end
  return own
end

local function rank_of(open, host)
  return math.floor(tonumber(redis.call('ZSCORE', open, host)))
end

-- Returns true if all have the rank of the first; otherwise their ranks.
local function ranks_of(open, hosts, first)
  if rank_of(open, hosts[1]) == rank_of(open, hosts[#hosts]) then return nil end
  local lanes, ranks = redis.call('ZRANGE', open, first, first + #hosts - 1, 'WITHSCORES'), {}
  for i = 2, #lanes, 2 do ranks[#ranks + 1] = math.floor(tonumber(lanes[i])) end
  return ranks
end

local function append(list, more)
  local size = #list
  for i, one in ipairs(more) do list[size + i] = one end
end

-- Returns open lanes from the first on (0 is the best) to fill the slots: among equals the worker's own come first.
-- The more workers there are, the more lanes are read to find its own.
function Placement.lanes(batch, open, first, count)
  local own = batch.own
  local width = own and math.max(count, math.min(math.ceil(count * own.spread), LANES)) or count
  local hosts = redis.call('ZRANGE', open, first, first + width - 1)
  if not own or #hosts < 2 then return hosts end
  local ranks, order, others = ranks_of(open, hosts, first), {}, {}
  for i, host in ipairs(hosts) do
    if ranks and i > 1 and ranks[i] ~= ranks[i - 1] then
      append(order, others)
      others = {}
    end
    local list = own[part_of(host)] and order or others
    list[#list + 1] = host
  end
  append(order, others)
  return order
end

-- Returns how long after its gate has opened a host is still reserved for its owner.
function Placement.grace(x, batch, host)
  if not batch.own or batch.own[part_of(host)] then return 0 end
  return math.min(GRACE_S, Gate.read(x, host).delay * GRACE_SHARE)
end

-- Returns whether an open host is reserved for its owner for now; records when to try again.
function Placement.leaves(x, batch, gate)
  local grace = Placement.grace(x, batch, gate.host)
  if grace == 0 then return false end
  local opens_at = Gate.opens_at(x, gate)
  if opens_at > x.now or opens_at + grace <= x.now then return false end
  batch.soonest = math.min(batch.soonest or math.huge, opens_at + grace)
  return true
end
