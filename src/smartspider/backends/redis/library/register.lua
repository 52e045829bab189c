-- What can be called. Whatever only takes away, moves or ends something also works when memory is full.

local function named(name, flags, act)
  redis.register_function{function_name = 'smartspider_' .. name, flags = flags, callback = act}
end

local function worker(name, flags, act)
  named(name, flags, function(keys, argv) return act(Clock.enter(keys[1]), argv) end)
end

local function leader(name, flags, act)
  named(name, flags, function(keys, argv) return act(Clock.lead(keys[1], tonumber(argv[1])), argv) end)
end

local function reader(name, act)
  named(name, {'no-writes'}, function(keys, argv)
    return act({tag = keys[1], now = 0, armed_at = 0, runs = {}, gates = {}}, argv)
  end)
end

named('version', {'no-writes'}, function() return VERSION end)
named('look', {'no-writes'}, function(keys) return Clock.look(keys[1]) end)
named('begin', {'allow-oom'}, function(keys, argv) return Clock.begin(keys[1], tonumber(argv[1])) end)
named('disarm', {'allow-oom'}, function(keys, argv) return Clock.disarm(keys[1], tonumber(argv[1])) end)
named('arm', {'allow-oom'}, function(keys, argv) return Clock.arm(keys[1], tonumber(argv[1]), tonumber(argv[2])) end)

leader('controls', {'allow-oom'}, Leader.controls)
leader('set_hosts', {'allow-oom'}, function(x, argv) return Leader.hosts(x, argv, 2) end)
leader('replay', {}, Leader.replay)
reader('lanes', Leader.lanes)
reader('counts', Leader.counts)

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
worker('resume', {'allow-oom'}, function(x, argv) Gate.resume(x, argv[1]) return 1 end)

-- host, domain, ahead, slack, least delay. Moment, not before, not after, delay.
worker('permit', {'allow-oom'}, function(x, argv)
  redis.call('HSETNX', Key.gate(x, argv[1]), 'domain', argv[2])
  local gate = Gate.read(x, argv[1])
  local least = tonumber(argv[5])
  local own = gate.delay
  gate.delay = math.max(own, least)
  local window = Gate.reserve(x, gate, tonumber(argv[3]), tonumber(argv[4]), 0)
  gate.delay = own
  if window.delay > 0 then Gate.reopen(x, argv[1]) end
  return {precise(x.now), precise(window.not_before), precise(window.not_after), precise(window.delay)}
end)

worker('check_lanes', {'allow-oom'}, Check.lanes)
worker('check_waiting', {'allow-oom'}, Check.waiting)
worker('check_leases', {'allow-oom'}, Check.leases)
worker('check_workers', {'allow-oom'}, Check.workers)
worker('check_flying', {'allow-oom'}, Check.flying)
