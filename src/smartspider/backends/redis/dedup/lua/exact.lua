-- The exact set: hashes of some 200 fingerprints each, small enough to stay listpacks. Their number grows by
-- one whenever the average is too large (linear hashing), so the work is spread evenly over the calls.
--
-- <tag>:set:<name>  hash of a set: gen, level, split, count
-- <tag>:sets        set of all names
-- <tag>:entries     total entries
-- <tag>:<gen>:<n>   a bucket: a hash whose fields are fingerprints; a set would be a listpack from Redis 7.2 on only
-- <tag>:trash       gen -> buckets of dropped sets not freed yet

local Exact = {}

local FIELDS = {'gen', 'level', 'split', 'count'}

local function head(tag, name)
  local found = redis.call('HMGET', tag .. ':set:' .. name, unpack(FIELDS))
  if not found[1] then return nil end
  return {
    gen = found[1],
    level = tonumber(found[2]),
    split = tonumber(found[3]),
    count = tonumber(found[4]),
  }
end

-- Bytes 3 to 6: the first byte selects the part of a cluster.
local function hash(packed, at)
  local a, b, c, d = string.byte(packed, at + 2, at + 5)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function place(set, number)
  local size = 2 ^ set.level
  local bucket = number % size
  if bucket < set.split then bucket = number % (2 * size) end
  return bucket
end

local function key_of(tag, set, bucket)
  return string.format('%s:%s:%d', tag, set.gen, bucket)
end

function Exact.known(tag, argv)
  local set = head(tag, argv[1])
  local packed, answer = argv[2], {}
  for at = 1, #packed, 16 do
    local bucket = set and key_of(tag, set, place(set, hash(packed, at)))
    answer[#answer + 1] = bucket and redis.call('HEXISTS', bucket, string.sub(packed, at, at + 15)) or 0
  end
  return table.concat(answer)
end

-- Move half of the entries of the next bucket to a new one.
local function split(tag, set)
  local size = 2 ^ set.level
  local old, new = key_of(tag, set, set.split), key_of(tag, set, set.split + size)
  local gone, kept = {}, {}
  for _, entry in ipairs(redis.call('HKEYS', old)) do
    if hash(entry, 1) % (2 * size) ~= set.split then
      gone[#gone + 1] = entry
      kept[#kept + 1] = entry
      kept[#kept + 1] = 0
    end
  end
  for at = 1, #gone, 1000 do
    redis.call('HSET', new, unpack(kept, 2 * at - 1, math.min(2 * at + 1998, #kept)))
    redis.call('HDEL', old, unpack(gone, at, math.min(at + 999, #gone)))
  end
  set.split = set.split + 1
  if set.split == size then set.level, set.split = set.level + 1, 0 end
end

-- Arguments: name, new gen, entries per bucket, maximum total entries, fingerprints.
function Exact.add(tag, argv)
  local name, gen, fill, most, packed = argv[1], argv[2], tonumber(argv[3]), tonumber(argv[4]), argv[5]
  local set = head(tag, name) or {gen = gen, level = 0, split = 0, count = 0}
  local entries = tonumber(redis.call('GET', tag .. ':entries') or 0)
  local new, refused = 0, 0
  for at = 1, #packed, 16 do
    local bucket, entry = key_of(tag, set, place(set, hash(packed, at))), string.sub(packed, at, at + 15)
    if redis.call('HEXISTS', bucket, entry) == 0 then
      if entries + new >= most then
        refused = refused + 1
      else
        redis.call('HSET', bucket, entry, 0)
        new, set.count = new + 1, set.count + 1
        if set.count > fill * (2 ^ set.level + set.split) then split(tag, set) end
      end
    end
  end
  if new > 0 then
    redis.call('HSET', tag .. ':set:' .. name, 'gen', set.gen, 'level', set.level, 'split', set.split,
      'count', set.count)
    redis.call('SADD', tag .. ':sets', name)
    redis.call('INCRBY', tag .. ':entries', new)
  end
  return {new, refused, entries + new}
end

function Exact.drop(tag, argv)
  local set = head(tag, argv[1])
  if not set then return 0 end
  redis.call('HSET', tag .. ':trash', set.gen, 2 ^ set.level + set.split)
  redis.call('DEL', tag .. ':set:' .. argv[1])
  redis.call('SREM', tag .. ':sets', argv[1])
  redis.call('DECRBY', tag .. ':entries', set.count)
  return 1
end

-- Free some buckets of dropped sets; return how many are left.
function Exact.sweep(tag, argv)
  local left = tonumber(argv[1])
  local trash, waiting = redis.call('HGETALL', tag .. ':trash'), 0
  for at = 1, #trash, 2 do
    local gen, buckets = trash[at], tonumber(trash[at + 1])
    local step = math.min(left, buckets)
    for bucket = buckets - step, buckets - 1 do redis.call('UNLINK', key_of(tag, {gen = gen}, bucket)) end
    left, buckets = left - step, buckets - step
    if buckets == 0 then
      redis.call('HDEL', tag .. ':trash', gen)
    else
      redis.call('HSET', tag .. ':trash', gen, buckets)
    end
    waiting = waiting + buckets
  end
  return waiting
end

-- Return the next bucket to list (-1: none) and the entries of some buckets from `first`. A bucket that is split
-- meanwhile moves entries to a later bucket, so none is missed.
function Exact.list(tag, argv)
  local set, first, many = head(tag, argv[1]), tonumber(argv[2]), tonumber(argv[3])
  if not set then return {-1, ''} end
  local buckets, found = 2 ^ set.level + set.split, {}
  local last = math.min(first + many, buckets) - 1
  for bucket = first, last do
    found[#found + 1] = table.concat(redis.call('HKEYS', key_of(tag, set, bucket)))
  end
  return {last + 1 < buckets and last + 1 or -1, table.concat(found)}
end
