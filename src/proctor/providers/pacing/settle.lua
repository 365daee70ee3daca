-- What one process concluded becomes everybody's, unless another was quicker.
-- KEYS[1]: state. ARGV: the version that it looked at, memory, rate, window ('' for none), gate (ms from now on).
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
local clock = redis.call('TIME')
local gate = clock[1] * 1000 + clock[2] / 1000 + ARGV[5]
redis.call('HSET', KEYS[1], 'version', tostring(ARGV[1] + 1), 'memory', ARGV[2], 'rate', ARGV[3], 'window', ARGV[4])
if tonumber(ARGV[5]) > 0 then redis.call('HSET', KEYS[1], 'gate', string.format('%.3f', gate)) end
return 1
