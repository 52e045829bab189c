-- The functions of the library. Functions that only delete also work when memory is full.

local function named(name, flags, act)
  redis.register_function{
    function_name = 'smartspider_dedup_' .. name,
    flags = flags,
    callback = function(keys, argv) return act(keys[1], argv) end,
  }
end

named('version', {'no-writes'}, function() return VERSION end)

named('known', {'no-writes'}, Exact.known)
named('list', {'no-writes'}, Exact.list)
named('add', {}, Exact.add)
named('drop', {'allow-oom'}, Exact.drop)
named('sweep', {'allow-oom'}, Exact.sweep)

named('bloom_known', {'no-writes'}, Bloom.known)
named('bloom_add', {}, Bloom.add)
named('bloom_drop', {'allow-oom'}, Bloom.drop)
