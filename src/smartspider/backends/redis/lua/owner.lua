-- The owner of a shard. Installations that use the same Redis by mistake do not mix: the owner keeps a shard as long
-- as its keeper is active, and calls of others are refused. Every call names its installation by a key beside the
-- tag; a call without one has no owner and may only read.

local KEPT_S = 60 -- a shard stays owned this long after its last arming

local Owner = {}
local owners = {}

local function refuse_other()
  refuse('FOREIGN', 'another installation has it')
end

-- Returns whether another installation owns the shard, and whether it was active recently. If the keys are lost, the
-- present owner continues.
function Owner.other(tag, who)
  local row = redis.call('HMGET', term_key(tag), 'owner', 'owned_at')
  local owner, heard_at, kept_s = row[1], tonumber(row[2]), KEPT_S
  if not owner then
    owner, heard_at, kept_s = owners[tag], shard_states[tag] and shard_states[tag].at, LAPSE_S
  end
  if not who or not owner or owner == who then return false, false end
  return true, heard_at ~= nil and math.abs(wall(tag) - heard_at) < kept_s
end

-- A worker's call.
function Owner.enter(tag, who)
  if who and owners[tag] and owners[tag] ~= who then refuse_other() end
end

-- A leader's call.
function Owner.lead(tag, who)
  if Owner.other(tag, who) then refuse_other() end
end

-- Returns whether another installation owned the shard that is no longer active.
function Owner.is_left(tag, who)
  local is_other, is_heard = Owner.other(tag, who)
  if is_heard then refuse_other() end
  return is_other
end

-- Called before a shard is begun. The data of an inactive installation is not used: time and terms start anew, and
-- the keys are removed.
function Owner.begin(tag, who)
  if Owner.is_left(tag, who) then
    shard_states[tag] = nil
    redis.call('HDEL', term_key(tag), 'marker', 'begun', 'heard', 'now')
    redis.call('HSET', term_key(tag), 'stale', 1)
  end
  if who then redis.call('HSET', term_key(tag), 'owner', who, 'owned_at', precise_time(wall(tag))) end
  owners[tag] = who
end

-- Records the arming.
function Owner.keep(tag, who)
  if who then redis.call('HSET', term_key(tag), 'owned_at', precise_time(wall(tag))) end
end
