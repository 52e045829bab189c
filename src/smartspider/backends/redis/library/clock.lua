-- Time and arming. A shard serves workers only while the leading keeper vouches for it.
--
-- What a shard was armed with is kept twice: here, where it is gone when the process is, and in the marker, where
-- it is gone when the data is. The marker names the process too, so a replica that takes over finds the marker
-- of another. Time is store time as the leader told it, plus what this server's clock ran since. It goes on
-- smoothly over renewals, which are late by as much as they were on their way: gaps are measured by it.

local WINDOW_MAX_S = 0.050
local BACK_S = 0.1 -- a clock that went back further than this is not trusted until the leader told the time again
local APART_S = 0.5 -- what the time may differ from what the leader tells before it is put right

local Clock = {}
local standing = {}
local process

local function refuse(code, why)
  error({err = code .. ' ' .. why})
end

local function precise_time(seconds)
  return string.format('%.17g', seconds)
end

local function term_key(tag)
  return tag .. ':term'
end

local function stats_key(tag)
  return tag .. ':st'
end

function Clock.process()
  if not process then process = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end
  return process
end

-- known_at: from then on it is known which slots were given: those of before the arming are over.
local function context(tag, now, here)
  return {tag = tag, now = now, known_at = (here.armed_at or 0) + (here.reach or 0), armed_at = here.armed_at or 0,
          lead = here.lead or 0, epoch = here.epoch or 0, first_token = here.first_token or 0,
          rested_at = here.rested_at or 0, is_armed = here.told ~= nil, runs = {}, gates = {}}
end

-- It is not known any more whose the slots until then were.
function Clock.rest(x, sent)
  x.rested_at = math.max(x.rested_at, sent)
  standing[x.tag].rested_at = x.rested_at
end

-- The moment a call is made at, or nil and the reason why this shard does not serve now. A moment of which it is
-- not sure moves nothing.
local function moment(tag)
  local here = standing[tag]
  if not here or not here.told then return nil, 'it was not armed since it began' end
  if redis.call('HGET', term_key(tag), 'marker') ~= here.marker then return nil, 'what it held is gone' end
  local by_wall = wall(tag)
  if by_wall < here.seen - BACK_S then
    here.age = LAPSE_S + here.at - by_wall -- until the leader tells the time again
    return nil, 'its clock went back'
  end
  if by_wall - here.at + here.age >= LAPSE_S then return nil, 'nobody renewed it' end
  local now = math.max(here.last, here.base + by_wall - here.at)
  here.seen = math.max(here.seen, by_wall)
  here.last = now
  return now, nil, here
end

-- A worker's call.
function Clock.enter(tag)
  local now, why, here = moment(tag)
  if not now then refuse('NOT_ARMED', why) end
  return context(tag, now, here)
end

-- Whoever leads with this epoch is the newest there is.
local function heed(tag, epoch)
  local here = standing[tag] or {}
  local heard = math.max(tonumber(redis.call('HGET', term_key(tag), 'heard') or 0), here.heard or 0)
  if epoch < heard then
    redis.call('HINCRBY', stats_key(tag), 'old_epoch', 1) -- what was written before an error stays
    refuse('OLD_EPOCH', 'epoch ' .. epoch .. ' is over, ' .. heard .. ' leads')
  end
  if epoch > heard then redis.call('HSET', term_key(tag), 'heard', epoch) end
  here.heard = epoch
  standing[tag] = here
  return here
end

local function own_marker(epoch)
  return string.format('%d:%s', epoch, Clock.process())
end

-- A leader's call: to a shard that is armed, or that it is about to arm.
function Clock.lead(tag, epoch)
  local here = heed(tag, epoch)
  local stored = redis.call('HMGET', term_key(tag), 'marker', 'begun', 'now')
  if stored[2] and stored[2] == here.begun then return context(tag, tonumber(stored[3] or 0), {}) end
  if not here.marker or stored[1] ~= here.marker then refuse('NOT_ARMED', 'begin first') end
  local now = moment(tag)
  return context(tag, now or here.last, here)
end

-- told: the moment, as the leader has it; the arming that follows is as old as it is late since then.
function Clock.begin(tag, epoch, told)
  local here = heed(tag, epoch)
  standing[tag] = {heard = epoch, begun = own_marker(epoch), last = here.last, begun_told = told, begun_at = wall(tag)}
  redis.call('HSET', term_key(tag), 'begun', standing[tag].begun)
  redis.call('HDEL', term_key(tag), 'marker')
  return 1
end

-- It serves nobody until it was begun and armed anew.
function Clock.disarm(tag, epoch)
  local here = heed(tag, epoch)
  here.told, here.begun = nil, nil
  redis.call('HDEL', term_key(tag), 'marker', 'begun')
  return 1
end

local function arm_anew(tag, epoch, here, told, stored)
  if not stored[2] or stored[2] ~= here.begun or here.begun ~= own_marker(epoch) then
    refuse('NOT_ARMED', 'begin first')
  end
  here.last = math.max(here.last or 0, tonumber(stored[3] or 0), told)
  here.armed_at = here.last
  -- Tokens of before may be lost with the end of a log: by the time they are never given twice.
  here.first_token = math.max(tonumber(stored[4] or 0), math.floor(here.armed_at * 1000000))
  here.begun = nil
  redis.call('HSET', term_key(tag), 'counter', here.first_token)
  redis.call('HDEL', term_key(tag), 'begun')
end

-- The time to go on from when a renewal comes. By how much this server's clock ran further than the store's since
-- the one before, so long this one was on its way; or the clock jumped, which cannot be told apart. Only where
-- both agree does what the clock ran count; else slots may be closer than they seem, and hosts wait as when the
-- shard was armed anew.
local function renew(here, told, by_wall)
  local ran, elapsed = by_wall - here.at, told - here.told
  here.age = math.max(0, ran - elapsed)
  if math.abs(ran - elapsed) <= APART_S then here.last = math.max(here.last, here.base + ran) end
  if told > here.last + APART_S then
    here.last = told
    here.armed_at, here.reach = told, here.lead
  end
  here.base = here.last > told + APART_S and told or here.last
end

-- Somebody needs a slot that ends so far ahead; the leader hears of it, and allows it from then on.
function Clock.want(x, lead)
  local here = standing[x.tag]
  here.wanted = math.max(here.wanted or 0, lead)
end

-- Armed, or armed for longer. What was told before says nothing new. lead: how far ahead a slot may end that is
-- given from now on; reach: how far those may end that were given before. Moment, and the longest lead that somebody
-- wanted since the last time.
function Clock.arm(tag, epoch, told, lead, reach)
  local here = heed(tag, epoch)
  local stored = redis.call('HMGET', term_key(tag), 'marker', 'begun', 'now', 'counter')
  local by_wall = wall(tag)
  if not here.marker or stored[1] ~= here.marker then
    arm_anew(tag, epoch, here, told, stored)
    here.reach = math.max(reach, WINDOW_MAX_S)
    here.base = here.last
    here.age = here.begun_told and math.max(0, by_wall - here.begun_at - (told - here.begun_told)) or 0
  elseif here.told and told <= here.told and epoch == here.epoch then
    return {precise_time(here.last), '0'}
  else
    renew(here, math.max(told, here.told or told), by_wall)
  end
  here.epoch, here.marker = epoch, own_marker(epoch)
  here.told, here.at, here.seen = told, by_wall, by_wall
  local wanted = here.wanted or 0
  here.lead, here.wanted = lead, 0
  redis.call('HSET', term_key(tag), 'marker', here.marker, 'now', precise_time(here.last))
  return {precise_time(here.last), precise_time(wanted)}
end

-- Process, epoch it was armed with, whether it serves now.
function Clock.look(tag)
  local here = standing[tag]
  local now = moment(tag)
  local is_intact = here and here.marker and redis.call('HGET', term_key(tag), 'marker') == here.marker
  return {Clock.process(), is_intact and here.epoch or 0, now and 1 or 0}
end
