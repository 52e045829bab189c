-- Bloom filters in blocks of 128 bytes. A fingerprint is uniform, so its bytes are the hash: the first six select
-- the block, the other ten the sixteen bits in it. 32 bits per key: a full filter errs on about one of 500,000 keys.
-- A full one is followed by one that is four times as large; some forty of them stay below one error in 10,000.
--
-- <tag>:bloom:<name>  hash of one: gen, filters, room, bytes, count, first
-- <tag>:blooms        set of all names
-- <tag>:bits          total bytes
-- <tag>:<gen>:f<n>    a filter

local Bloom = {}

local BLOCK, LARGEST, GROWTH, PER_BLOCK = 128, 16777184, 4, 32

local function head(tag, name)
  local found = redis.call('HMGET', tag .. ':bloom:' .. name, 'gen', 'filters', 'room', 'bytes', 'count', 'first')
  if not found[1] then return nil end
  return {
    gen = found[1],
    filters = tonumber(found[2]),
    room = tonumber(found[3]),
    bytes = tonumber(found[4]),
    count = tonumber(found[5]),
    first = tonumber(found[6]),
  }
end

local function capacity_of(number, first)
  local capacity = first
  for _ = 1, number do
    if capacity >= LARGEST then break end
    capacity = math.min(capacity * GROWTH, LARGEST)
  end
  return math.ceil(capacity / PER_BLOCK) * PER_BLOCK
end

local function key_of(tag, bloom, number)
  return string.format('%s:%s:f%d', tag, bloom.gen, number)
end

local function placed(tag, bloom)
  bloom.blocks, bloom.keys = {}, {}
  for number = 0, bloom.filters - 1 do
    bloom.blocks[number] = capacity_of(number, bloom.first) / PER_BLOCK
    bloom.keys[number] = key_of(tag, bloom, number)
  end
  return bloom
end

local POWER = {[0] = 1, 2, 4, 8, 16, 32, 64, 128}

-- Return the block of a fingerprint and the eight bits taken from its bytes.
local function spot(packed, at)
  local byte_at, floor = string.byte, math.floor
  local a, b, c, d, e, f = byte_at(packed, at, at + 5)
  local block = ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  a, b, c, d, e = byte_at(packed, at + 6, at + 10)
  local left = (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
  a, b, c, d, e = byte_at(packed, at + 11, at + 15)
  local right = (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
  return block, left % 1024, floor(left / 1024) % 1024, floor(left / 1048576) % 1024, floor(left / 1073741824),
    right % 1024, floor(right / 1024) % 1024, floor(right / 1048576) % 1024, floor(right / 1073741824)
end

local function on(bytes, place)
  local byte = string.byte(bytes, math.floor(place / 8) + 1)
  return byte and bit.band(byte, POWER[place % 8]) ~= 0
end

local function has(bytes, a, b, c, d, e, f, g, h)
  return on(bytes, a) and on(bytes, b) and on(bytes, c) and on(bytes, d)
    and on(bytes, e) and on(bytes, f) and on(bytes, g) and on(bytes, h)
    and on(bytes, (5 * a + 3 * b + d) % 1024) and on(bytes, (5 * b + 3 * c + e) % 1024)
    and on(bytes, (5 * c + 3 * d + f) % 1024) and on(bytes, (5 * d + 3 * e + g) % 1024)
    and on(bytes, (5 * e + 3 * f + h) % 1024) and on(bytes, (5 * f + 3 * g + a) % 1024)
    and on(bytes, (5 * g + 3 * h + b) % 1024) and on(bytes, (5 * h + 3 * a + c) % 1024)
end

local function is_known(bloom, block, ...)
  for number = bloom.filters - 1, 0, -1 do
    local start = (block % bloom.blocks[number]) * BLOCK
    if has(redis.call('GETRANGE', bloom.keys[number], start, start + BLOCK - 1), ...) then return true end
  end
  return false
end

local function set_bits(bloom, block, ...)
  local newest, bits = bloom.filters - 1, {...}
  for i = 1, 8 do bits[8 + i] = (5 * bits[i] + 3 * bits[i % 8 + 1] + bits[(i + 2) % 8 + 1]) % 1024 end
  local key, start = bloom.keys[newest], (block % bloom.blocks[newest]) * BLOCK
  local before = redis.call('GETRANGE', key, start, start + BLOCK - 1)
  local bytes = {string.byte(before .. string.rep('\0', BLOCK - #before), 1, BLOCK)}
  for i = 1, 16 do
    local at = math.floor(bits[i] / 8) + 1
    bytes[at] = bit.bor(bytes[at], POWER[bits[i] % 8])
  end
  redis.call('SETRANGE', key, start, string.char(unpack(bytes)))
end

-- Add a filter if enough bytes are left; return its size.
local function grow(tag, bloom, left)
  local capacity = capacity_of(bloom.filters, bloom.first)
  local size = capacity / PER_BLOCK * BLOCK
  if size > left then return 0 end
  bloom.blocks[bloom.filters], bloom.keys[bloom.filters] = capacity / PER_BLOCK, key_of(tag, bloom, bloom.filters)
  redis.call('SETRANGE', bloom.keys[bloom.filters], size - 1, '\0') -- allocated whole: growing would take twice the memory
  bloom.filters, bloom.room, bloom.bytes = bloom.filters + 1, capacity, bloom.bytes + size
  return size
end

function Bloom.known(tag, argv)
  local bloom, packed, answer = head(tag, argv[1]), argv[2], {}
  if not bloom then return string.rep('0', #packed / 16) end
  placed(tag, bloom)
  for at = 1, #packed, 16 do
    answer[#answer + 1] = is_known(bloom, spot(packed, at)) and '1' or '0'
  end
  return table.concat(answer)
end

-- Arguments: name, new gen, capacity of the first filter, budget in bytes, fingerprints.
function Bloom.add(tag, argv)
  local name, packed, most = argv[1], argv[5], tonumber(argv[4])
  local bloom = placed(tag, head(tag, name)
    or {gen = argv[2], filters = 0, room = 0, bytes = 0, count = 0, first = tonumber(argv[3])})
  local used, new, refused, grown = tonumber(redis.call('GET', tag .. ':bits') or 0), 0, 0, 0
  for at = 1, #packed, 16 do
    if not is_known(bloom, spot(packed, at)) then
      if bloom.room <= 0 then grown = grown + grow(tag, bloom, most - used - grown) end
      if bloom.room > 0 then
        set_bits(bloom, spot(packed, at))
        bloom.room, bloom.count, new = bloom.room - 1, bloom.count + 1, new + 1
      else
        refused = refused + 1
      end
    end
  end
  if new > 0 then
    redis.call('HSET', tag .. ':bloom:' .. name, 'gen', bloom.gen, 'filters', bloom.filters, 'room', bloom.room,
      'bytes', bloom.bytes, 'count', bloom.count, 'first', bloom.first)
    redis.call('SADD', tag .. ':blooms', name)
    redis.call('INCRBY', tag .. ':bits', grown)
  end
  return {new, refused, used + grown}
end

function Bloom.drop(tag, argv)
  local bloom = head(tag, argv[1])
  if not bloom then return 0 end
  for number = 0, bloom.filters - 1 do redis.call('UNLINK', key_of(tag, bloom, number)) end
  redis.call('DEL', tag .. ':bloom:' .. argv[1])
  redis.call('SREM', tag .. ':blooms', argv[1])
  redis.call('DECRBY', tag .. ':bits', bloom.bytes)
  return 1
end
