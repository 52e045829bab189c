-- The registered functions. Those that only remove, move or end something also work when memory is full.

local function named(name, flags, act)
  redis.register_function{function_name = 'smartspider_' .. name, flags = flags, callback = act}
end

local function numbers(argv)
  local numbers = {}
  for i, word in ipairs(argv) do numbers[i] = tonumber(word) end
  return numbers
end

local function worker(name, flags, act)
  named(name, flags, function(keys, argv)
    Owner.enter(keys[1], keys[2])
    return act(Clock.enter(keys[1]), argv)
  end)
end

local function leader(name, flags, act)
  named(name, flags, function(keys, argv)
    Owner.lead(keys[1], keys[2])
    return act(Clock.lead(keys[1], tonumber(argv[1])), argv)
  end)
end

local function reader(name, act)
  named(name, {'no-writes'}, function(keys, argv)
    return act({tag = keys[1], now = 0, known_at = 0, armed_at = 0, rested_at = 0, runs = {}, gates = {}}, argv)
  end)
end

named('version', {'no-writes'}, function() return VERSION end)

-- Returns the process, the epoch of its arming, whether it serves now, and whether another installation owns it.
named('look', {'no-writes'}, function(keys)
  local is_other, is_heard = Owner.other(keys[1], keys[2])
  local found = Clock.look(keys[1])
  if is_other then found = {found[1], 0, 0} end
  push(found, is_heard and 1 or 0)
  return found
end)

-- epoch, time. Returns 1, or 2 if the present data must be removed first.
named('begin', {'allow-oom'}, function(keys, argv)
  Owner.begin(keys[1], keys[2])
  Clock.begin(keys[1], tonumber(argv[1]), tonumber(argv[2]))
  return redis.call('HEXISTS', term_key(keys[1]), 'stale') + 1
end)

-- epoch, whether to remove all data.
named('disarm', {'allow-oom'}, function(keys, argv)
  if Owner.is_left(keys[1], keys[2]) then return 1 end -- the next process to begin it removes all data
  Clock.disarm(keys[1], tonumber(argv[1]))
  if argv[2] == '1' then redis.call('HSET', term_key(keys[1]), 'stale', 1) end
  return 1
end)

named('arm', {'allow-oom'}, function(keys, argv)
  Owner.lead(keys[1], keys[2])
  local armed = Clock.arm(keys[1], unpack(numbers(argv)))
  Owner.keep(keys[1], keys[2])
  return armed
end)

leader('forget', {'allow-oom'}, Leader.forget)

leader('controls', {'allow-oom'}, Leader.controls)
leader('let_go', {'allow-oom'}, Leader.let_go)
leader('set_hosts', {'allow-oom'}, function(x, argv) return Leader.hosts(x, argv, 2) end)
leader('replay', {}, Leader.replay)
reader('lanes', Leader.lanes)
reader('counts', Leader.counts)
reader('refusals', Settle.refusals)
reader('demand', Demand.lanes)

worker('offer', {}, function(x, argv) return Lanes.offer(x, argv, 1) end)
worker('lease', {}, Sharing.lease)
worker('ready', {'no-writes'}, Sharing.ready)
worker('ack', {'allow-oom'}, function(x, argv) return Settle.ack(x, argv, false) end)
worker('unused', {'allow-oom'}, function(x, argv) return Settle.ack(x, argv, true) end)
worker('postpone', {'allow-oom'}, Settle.postpone)
worker('release', {'allow-oom'}, Settle.release)
worker('leave', {'allow-oom'}, Settle.leave)
worker('renew', {'allow-oom'}, Settle.renew)
worker('held', {'no-writes'}, Settle.held)
worker('reclaim', {'allow-oom'}, Settle.reclaim)
worker('requeue', {'allow-oom'}, Settle.requeue)
worker('hosts', {'allow-oom'}, function(x, argv) return Leader.hosts(x, argv, 1) end)

-- host, domain, how near the slot must be, slack, least delay. Returns time, not before, not after, delay; or time
-- and when the gate opens.
worker('permit', {'allow-oom'}, function(x, argv)
  Gate.appear(x, argv[1], argv[2])
  local gate = Gate.read(x, argv[1])
  local least = tonumber(argv[5])
  local own = gate.delay
  gate.delay = math.max(own, least)
  local opens_at = Gate.opens_at(x, gate)
  if opens_at > x.now + tonumber(argv[3]) then
    gate.delay = own
    return {precise(x.now), precise(opens_at)}
  end
  local window = Gate.reserve(x, gate, 0, tonumber(argv[4]), 0)
  gate.delay = own
  if window.delay > 0 then Gate.reopen(x, argv[1]) end
  return {precise(x.now), precise(window.not_before), precise(window.not_after), precise(window.delay)}
end)

worker('check_lanes', {'allow-oom'}, Check.lanes)
worker('check_waiting', {'allow-oom'}, Check.waiting)
worker('check_leases', {'allow-oom'}, Check.leases)
worker('check_workers', {'allow-oom'}, Check.workers)
worker('check_in_flight', {'allow-oom'}, Check.in_flight)
