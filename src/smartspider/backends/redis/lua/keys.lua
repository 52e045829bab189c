-- Names of keys. All begin with the tag of their shard, so they are in its slot.
--
-- An id is eight bytes: three of the run, five of the number within it. A queue belongs to a run and holds numbers.

local Key = {}

function Key.gate(x, host) return x.tag .. ':h:' .. host end             -- hash: the spacing of a host
function Key.runs_at(x, host) return x.tag .. ':s:' .. host end         -- zset: run -> service count
function Key.flight(x, host) return x.tag .. ':f:' .. host end           -- zset: id -> deadline
function Key.in_flight_hosts(x, domain) return x.tag .. ':fd:' .. domain end -- set: hosts that may have requests in flight
function Key.crowded(x, domain) return x.tag .. ':dw:' .. domain end     -- set: hosts that wait for their domain
function Key.crowds(x) return x.tag .. ':dws' end                        -- set: domains with such hosts
function Key.worker(x, worker) return x.tag .. ':w:' .. worker end       -- zset: leased id -> deadline
function Key.workers(x) return x.tag .. ':ws' end                        -- zset: worker -> lower bound of its deadlines
function Key.leases(x) return x.tag .. ':l' end                          -- hash: id -> record
function Key.in_flight(x) return x.tag .. ':n' end                       -- hash: run -> requests in flight
function Key.returned(x) return x.tag .. ':b' end                        -- zset: id -> when its return was reported
function Key.lone(x) return x.tag .. ':wa' end                           -- hash: worker -> the suspect it holds
function Key.asked(x) return x.tag .. ':as' end                          -- zset: run -> when a worker last leased for it
function Key.controls(x) return x.tag .. ':c' end                        -- hash: run -> control
function Key.gone(x) return x.tag .. ':g' end                            -- set: runs that are being dropped
function Key.rested(x) return x.tag .. ':rs' end                         -- set: runs at evicted hosts
function Key.touched(x) return x.tag .. ':t' end                         -- hash: run -> progress of updating its gates
function Key.stats(x) return stats_key(x.tag) end                        -- hash: counters
function Key.term(x) return term_key(x.tag) end

-- Of a run: 'hosts' (set: all it ever had requests for), 'a' open lanes (zset by rank), 'w' closed ones (zset by
-- time), 'later' and 'alone' (zsets by time), 'held' (hash: number -> position, of both), 'more' lanes whose tail is
-- only in the store (zset: host -> when it was cut), 'sent' (hash: host -> end of the last slot, if a delay applies to
-- the run alone).
function Key.run(x, run, part) return x.tag .. ':r:' .. run .. ':' .. part end
function Key.queue(x, run, host) return x.tag .. ':r:' .. run .. ':q:' .. host end

local function run_of(id)
  local a, b, c = string.byte(id, 1, 3)
  return tostring(a * 65536 + b * 256 + c)
end

local function number_of(id)
  return string.sub(id, 4)
end

local function push(list, ...)
  local size = #list
  for i = 1, select('#', ...) do list[size + i] = (select(i, ...)) end
end

-- Returns the list of a key in a table; a new one if there is none.
local function listed(groups, key)
  local list = groups[key]
  if not list then
    list = {}
    groups[key] = list
  end
  return list
end

-- A lease as stored. reported_at > 0: it was taken back then, and waits to be queued again or removed.
local RECORD = '>dIIdBd'
local RECORD_SIZE = 33

local function pack_record(record)
  return struct.pack(RECORD, record.counter, record.epoch, record.worker, record.rank, record.is_alone and 1 or 0,
    record.reported_at) .. record.host
end

-- Returns nil for an invalid record.
local function unpack_record(packed)
  if string.len(packed) <= RECORD_SIZE then return nil end
  local counter, epoch, worker, rank, is_alone, reported_at = struct.unpack(RECORD, packed)
  return {counter = counter, epoch = epoch, worker = worker, rank = rank, is_alone = is_alone == 1, reported_at = reported_at,
          host = string.sub(packed, RECORD_SIZE + 1)}
end

-- Times in sorted sets are whole milliseconds, rounded up: small sets compare integers much faster.
local function in_ms(seconds)
  return string.format('%d', math.ceil(seconds * 1000 - 0.01))
end

-- The last of them that has passed.
local function past_ms(now)
  return string.format('%d', math.floor(now * 1000 + 0.01))
end

local function precise(number)
  return string.format('%.17g', number)
end

-- The score of a lane among the open ones of its run: the rank of its head, in the order of discovery among equals.
local function lane_score(head)
  local a, b, c, d, e = string.byte(head[1], 1, 5)
  return tonumber(head[2]) + (((e / 256 + d) / 256 + c) / 256 + b) / 65536 + a / 256
end
