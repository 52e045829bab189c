-- Which worker had better take a host, so that connections and names are used again. All hosts are divided into
-- parts, and a worker tells which of them are its own: it takes those first. What is left lying by its owner
-- anybody takes: at once where the host has no delay, else when its slot has been free for a moment.

local GRACE_S, GRACE_SHARE = 0.1, 0.1 -- how long a free slot is its owner's, and of the delay at most
local HOSTS_KNOWN, WORKERS_KNOWN = 20000, 200
local LANES = 256      -- open lanes looked through for one's own, at most

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

-- The parts of a worker, a bit for each; nil for one that does not mind what it takes.
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

-- Whether all of them are as urgent as the first; else the ranks they have.
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

-- Open lanes from the first on (0 is the best) that may fill so many places: among equals one's own come first. The
-- more workers there are the more lanes are looked through for one's own.
function Placement.lanes(hand, open, first, count)
  local own = hand.own
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

-- How long after its gate has opened a host is still left to its owner.
function Placement.grace(x, hand, host)
  if not hand.own or hand.own[part_of(host)] then return 0 end
  return math.min(GRACE_S, Gate.read(x, host).delay * GRACE_SHARE)
end

-- Whether a host that is open is left to its owner for now; when to come back is noted.
function Placement.leaves(x, hand, gate)
  local grace = Placement.grace(x, hand, gate.host)
  if grace == 0 then return false end
  local opens_at = Gate.opens_at(x, gate)
  if opens_at > x.now or opens_at + grace <= x.now then return false end
  hand.soonest = math.min(hand.soonest or math.huge, opens_at + grace)
  return true
end
