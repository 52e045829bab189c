-- Whose a shard is. Installations that were given the same place by mistake do not mix: who has a shard keeps it as
-- long as its keeper is heard of, and calls of others are refused. Every call names its installation by a key beside
-- the tag; one without is nobody's, and may look.

local KEPT_S = 60 -- so long after its last arming a shard is nobody else's

local Owner = {}
local owners = {}

local function refuse_other()
  refuse('FOREIGN', 'another installation has it')
end

-- Whether another installation has the shard, and whether that was heard of lately. Where the keys are gone, who serves
-- here goes on.
function Owner.other(tag, who)
  local row = redis.call('HMGET', term_key(tag), 'owner', 'owned_at')
  local owner, heard_at, kept_s = row[1], tonumber(row[2]), KEPT_S
  if not owner then
    owner, heard_at, kept_s = owners[tag], standing[tag] and standing[tag].at, LAPSE_S
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

-- Whether another installation had it that is gone.
function Owner.is_left(tag, who)
  local is_other, is_heard = Owner.other(tag, who)
  if is_heard then refuse_other() end
  return is_other
end

-- Before a shard is begun. What an installation left that is gone is not this one's: time and terms count anew, and
-- the keys are to be forgotten.
function Owner.begin(tag, who)
  if Owner.is_left(tag, who) then
    standing[tag] = nil
    redis.call('HDEL', term_key(tag), 'marker', 'begun', 'heard', 'now')
    redis.call('HSET', term_key(tag), 'stale', 1)
  end
  if who then redis.call('HSET', term_key(tag), 'owner', who, 'owned_at', precise_time(wall(tag))) end
  owners[tag] = who
end

-- It was armed.
function Owner.keep(tag, who)
  if who then redis.call('HSET', term_key(tag), 'owned_at', precise_time(wall(tag))) end
end
