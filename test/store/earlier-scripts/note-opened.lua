local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function held(index)
  return redis.call('ZCOUNT', index, string.format('(%.0f', now), '+inf')
end

local function readPart(l, key, index, others, most)
  read(l, key)
  if l.known then return end
  if held(index) < most then
    l.opens = true
    return
  end
  read(l, others)
  l.others = true
end

local function noteHeld(index, reset, key)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', string.format('%.0f', now))
  redis.call('ZADD', index, string.format('%.0f', reset), key)
  local ttl = math.max(redis.call('PTTL', index), reset - now + 1000)
  redis.call('PEXPIRE', index, string.format('%.0f', ttl))
end

local function notePart(l, index)
  if not l.moved then return end
  if isShared(l) and not l.opens and not l.others then
    redis.call('ZADD', index, 'XX', string.format('%.0f', l.reset), l.key)
  else noteHeld(index, l.reset, l.key) end
end

noteHeld(KEYS[1], tonumber(ARGV[2]), ARGV[1])
return 0
