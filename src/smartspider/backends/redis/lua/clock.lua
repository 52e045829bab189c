-- Time and arming. A shard serves workers only while the leading keeper keeps it armed.
--
-- The arming is stored twice: in a variable, which is lost with the process, and in the marker key, which is lost
-- with the data. The marker also names the process, so a promoted replica finds the marker of another one. Time is
-- the store time given by the leader plus the progress of this server's clock. It continues smoothly over renewals,
-- which are late by their time in transit: gaps are measured by it.

local WINDOW_MAX_S = 0.050
local BACK_S = 0.1 -- a clock that went back by more than this is not trusted until the leader sends the time again
local APART_S = 0.5 -- largest difference to the leader's time before it is corrected

local RETURN_S = 60 -- a leader's time that is further back is a step of store time

local Clock = {}
local shard_states = {}
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

-- known_at: from then on all granted slots are known, since those from before the arming have ended.
local function context(tag, now, here)
  return {tag = tag, now = now, known_at = (here.armed_at or 0) + (here.reach or 0), armed_at = here.armed_at or 0,
          lead = here.lead or 0, epoch = here.epoch or 0, first_token = here.first_token or 0,
          rested_at = here.rested_at or 0, is_armed = here.leader_time ~= nil, runs = {}, gates = {}}
end

-- Slots until then are no longer known.
function Clock.rest(x, sent)
  x.rested_at = math.max(x.rested_at, sent)
  shard_states[x.tag].rested_at = x.rested_at
end

-- Returns the time of a call, or nil and the reason why this shard does not serve now. An uncertain time changes
-- nothing.
local function moment(tag)
  local here = shard_states[tag]
  if not here or not here.leader_time then return nil, 'it was not armed since its start' end
  if redis.call('HGET', term_key(tag), 'marker') ~= here.marker then return nil, 'its data is lost' end
  local by_wall = wall(tag)
  if by_wall < here.seen - BACK_S then
    here.age = LAPSE_S + here.at - by_wall -- until the leader sends the time again
    return nil, 'its clock went back'
  end
  if by_wall - here.at + here.age >= LAPSE_S then return nil, 'its arming lapsed' end
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

-- Accepts this epoch as the newest, or refuses it.
local function heed(tag, epoch)
  local here = shard_states[tag] or {}
  local newest = math.max(tonumber(redis.call('HGET', term_key(tag), 'heard') or 0), here.newest or 0)
  if epoch < newest then
    redis.call('HINCRBY', stats_key(tag), 'old_epoch', 1) -- writes before an error are kept
    refuse('OLD_EPOCH', 'epoch ' .. epoch .. ' has ended, ' .. newest .. ' leads')
  end
  if epoch > newest then redis.call('HSET', term_key(tag), 'heard', epoch) end
  here.newest = epoch
  shard_states[tag] = here
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

-- leader_time: the leader's time; the following arming is as old as this call is late.
function Clock.begin(tag, epoch, leader_time)
  local here = heed(tag, epoch)
  shard_states[tag] = {newest = epoch, begun = own_marker(epoch), last = here.last, begun_leader_time = leader_time, begun_at = wall(tag)}
  redis.call('HSET', term_key(tag), 'begun', shard_states[tag].begun)
  redis.call('HDEL', term_key(tag), 'marker')
  return 1
end

-- Serves no calls until it is begun and armed again.
function Clock.disarm(tag, epoch)
  local here = heed(tag, epoch)
  here.leader_time, here.begun = nil, nil
  redis.call('HDEL', term_key(tag), 'marker', 'begun')
  return 1
end

local function arm_anew(tag, epoch, here, leader_time, stored)
  if not stored[2] or stored[2] ~= here.begun or here.begun ~= own_marker(epoch) then
    refuse('NOT_ARMED', 'begin first')
  end
  local before = math.max(here.last or 0, tonumber(stored[3] or 0))
  -- Store time went back: the leader has let this shard forget what it held, so nothing here is ahead of it.
  if before > leader_time + RETURN_S then before = 0 end
  here.last = math.max(before, leader_time)
  here.armed_at = here.last
  -- Tokens may be lost with the end of the append-only file: starting from the time, none is given twice.
  here.first_token = math.max(tonumber(stored[4] or 0), math.floor(here.armed_at * 1000000))
  here.begun = nil
  redis.call('HSET', term_key(tag), 'counter', here.first_token)
  redis.call('HDEL', term_key(tag), 'begun')
end

-- The time to continue from after a renewal. By how much this server's clock ran further than the store's since the
-- last renewal, this one was in transit; or the clock jumped, which cannot be distinguished. The progress of the clock
-- counts only where both agree; otherwise slots may be closer than they seem, and hosts wait as after a new arming.
local function renew(here, leader_time, by_wall)
  local ran, elapsed = by_wall - here.at, leader_time - here.leader_time
  here.age = math.max(0, ran - elapsed)
  if math.abs(ran - elapsed) <= APART_S then here.last = math.max(here.last, here.base + ran) end
  if leader_time > here.last + APART_S then
    here.last = leader_time
    here.armed_at, here.reach = leader_time, here.lead
  end
  here.base = here.last > leader_time + APART_S and leader_time or here.last
end

-- Records that a slot was requested that ends this far ahead; the leader learns it, and allows it from then on.
function Clock.want(x, lead)
  local here = shard_states[x.tag]
  here.wanted = math.max(here.wanted or 0, lead)
end

-- Arms, or extends the arming. Older calls change nothing. lead: how far ahead slots granted from now on may end;
-- reach: how far ahead those granted before may end. Returns the time, and the longest lead requested since the last
-- call.
function Clock.arm(tag, epoch, leader_time, lead, reach)
  local here = heed(tag, epoch)
  local stored = redis.call('HMGET', term_key(tag), 'marker', 'begun', 'now', 'counter')
  local by_wall = wall(tag)
  if not here.marker or stored[1] ~= here.marker then
    arm_anew(tag, epoch, here, leader_time, stored)
    here.reach = math.max(reach, WINDOW_MAX_S)
    here.base = here.last
    here.age = here.begun_leader_time and math.max(0, by_wall - here.begun_at - (leader_time - here.begun_leader_time)) or 0
  elseif here.leader_time and leader_time <= here.leader_time and epoch == here.epoch then
    return {precise_time(here.last), '0'}
  else
    renew(here, math.max(leader_time, here.leader_time or leader_time), by_wall)
  end
  here.epoch, here.marker = epoch, own_marker(epoch)
  here.leader_time, here.at, here.seen = leader_time, by_wall, by_wall
  local wanted = here.wanted or 0
  here.lead, here.wanted = lead, 0
  redis.call('HSET', term_key(tag), 'marker', here.marker, 'now', precise_time(here.last))
  return {precise_time(here.last), precise_time(wanted)}
end

-- Returns the process, the epoch of its arming, and whether it serves now.
function Clock.look(tag)
  local here = shard_states[tag]
  local now = moment(tag)
  local is_intact = here and here.marker and redis.call('HGET', term_key(tag), 'marker') == here.marker
  return {Clock.process(), is_intact and here.epoch or 0, now and 1 or 0}
end
