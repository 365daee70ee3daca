-- One process tells how it went and is given its part: places, and moments at which requests may begin.
-- KEYS: state (hash), leases (sorted set: member -> when it ends, ms), held (hash: member -> "places in_flight").
-- ARGV[1]: what the process says, as JSON (pacing/fleet.py writes it). Answers with JSON; times are in ms.
local state, leases, held = KEYS[1], KEYS[2], KEYS[3]
local said = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000

local names = {'version', 'memory', 'rate', 'window', 'gate', 'next', 'places', 'in_flight', 'most', 'short',
  'looked', 'started', 'completed', 'tokens', 'refused', 'full', 'retry', 'told'}
local found, is = redis.call('HMGET', state, unpack(names)), {}
for i, name in ipairs(names) do is[name] = found[i] end
local function number(name) return tonumber(is[name] or '') or 0 end

-- A server that was started anew knows nothing: whoever comes first brings back what was known.
if not is.version and said.known then
  for name, value in pairs(said.known) do is[name] = tostring(value) end
end
local version, rate, window = is.version or '0', tonumber(is.rate or ''), tonumber(is.window or '')
if version == '0' then window = said.first end

-- What a member has, and what is left when it is gone.
local places, in_flight = number('places'), number('in_flight')
local function let_go(member)
  local has = redis.call('HGET', held, member)
  if not has then return 0 end
  local its_places, its_flight = string.match(has, '(%d+) (%d+)')
  places, in_flight = math.max(0, places - its_places), math.max(0, in_flight - its_flight)
  redis.call('HDEL', held, member)
  redis.call('ZREM', leases, member)
  return tonumber(its_places)
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', leases, 0, now)) do let_go(member) end
let_go(said.member)

-- Places: what is free, but no more than a fair part while somebody has less than that.
local members, target, short = redis.call('ZCARD', leases) + 1, said.in_flight, number('short')
if window then
  local fair = math.max(1, math.floor(window / members))
  target = math.max(0, math.min(said.places, window - places))
  if target < math.min(said.places, fair) then
    short = now
  elseif now - short < 1000 and target > 0 then
    target = math.min(target, fair)
    -- With fewer places than members they go round.
    if members > window and said.luck < 0.2 then target = 0 end
  end
end
if not said.leaves then
  local has = math.max(target, said.in_flight)
  places, in_flight = places + has, in_flight + said.in_flight
  redis.call('HSET', held, said.member, string.format('%d %d', has, said.in_flight))
  redis.call('ZADD', leases, now + said.lease, said.member)
end

-- Moments: evenly one after the other, up to a little ahead; at a low rate one.
local due, count, spacing = math.max(number('next'), now - said.tolerance), 0, 0
if rate then
  spacing = 1000 / rate
  due = math.max(now - said.tolerance, due - said.unused * spacing)
  if said.moments > 0 and due <= now + said.ahead then
    count = math.min(said.moments, math.floor((now + said.ahead - due) / spacing) + 1)
  end
end
local first = due - now
due = due + count * spacing

-- What the next one who looks at it all will judge.
local told = cjson.decode(is.told or '{}')
for unit, seen in pairs(said.told) do
  seen.at = now - seen.age
  if not told[unit] or told[unit].at <= seen.at then told[unit] = seen end
end
local sums = {most = math.max(number('most'), in_flight), retry = math.max(number('retry'), said.retry)}
for _, name in ipairs({'started', 'completed', 'tokens', 'refused', 'full'}) do sums[name] = number(name) + said[name] end

local answer = {version = version, rate = rate, count = count, first = first, spacing = spacing,
  places = window and target, gate = math.max(0, number('gate') - now), members = members,
  again = rate and count == 0 and math.max(0, due - now - said.ahead) or 0}
if version ~= said.version then answer.known = {version = version, memory = is.memory or '', rate = rate, window = window} end

local looked = number('looked')
if now - looked >= (said.refused > 0 and said.soon or said.tick) then
  answer.look = {now = now, span = looked > 0 and now - looked or 0, memory = is.memory or '', told = told,
    in_flight = in_flight, members = members}
  for name, value in pairs(sums) do answer.look[name] = value end
  sums, told, looked = {most = in_flight, retry = 0, started = 0, completed = 0, tokens = 0, refused = 0,
    full = 0}, {}, now
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, said.kept) end
end
local told_text = next(told) and cjson.encode(told) or '{}'
redis.call('HSET', state, 'version', version, 'memory', is.memory or '', 'rate', rate or '', 'window',
  version == '0' and '' or window or '', 'gate', is.gate or '0', 'next', string.format('%.3f', due),
  'places', places, 'in_flight', in_flight, 'most', sums.most, 'short', short, 'looked', string.format('%.3f', looked),
  'started', sums.started, 'completed', sums.completed, 'tokens', sums.tokens, 'refused', sums.refused, 'full', sums.full,
  'retry', sums.retry, 'told', told_text)
return cjson.encode(answer)
