local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local cost = 1

local function unitsOf(l, units)
  if units < l.units then return units end
  return l.units
end

local function costOf(l)
  return unitsOf(l, l.role == 'global' and 1 or cost)
end

local function partsOf(l)
  if l.parts > l.units - 1 then return l.units - 1 end
  return l.parts
end

local function save(l)
  local value
  if l.smooth then value = string.format('%.0f %.0f %.0f', l.mark, l.parts, l.reset)
  else value = string.format('%.0f %.0f', l.reset, l.consumed) end
  redis.call('SET', l.key, value, 'PX', string.format('%.0f', l.reset - now + 1000))
end

local function read(l, key)
  l.key = key
  local value = redis.call('GET', key) or ''
  local furthest = now + l.period + l.slack + 1
  if l.smooth then
    local mark, parts, reset = string.match(value, '^(%d+) (%d+) (%d+)$')
    l.mark, l.parts, l.reset = tonumber(mark), tonumber(parts), tonumber(reset)
    l.ahead = l.mark and l.mark > furthest
    if l.ahead then l.mark, l.parts, l.reset = now + l.period, 0, now + l.period end
  else
    local reset, consumed = string.match(value, '^(%d+) (%d+)$')
    l.reset, l.consumed = tonumber(reset), tonumber(consumed)
    l.ahead = l.reset and l.reset > furthest
    if l.ahead then l.reset = now + l.period end
  end
  if l.ahead then save(l) end
  l.known = l.reset and now < l.reset
  if not l.known then l.mark, l.parts, l.reset, l.consumed = 0, 0, 0, 0 end
end

local function wait(l)
  if not l.smooth then
    if l.consumed + costOf(l) <= l.units or now >= l.reset - l.slack then return 0 end
    return l.reset - now
  end
  if now >= l.mark then return 0 end
  local free = l.mark - now - l.period + (costOf(l) * l.period - partsOf(l)) / l.units
  if free <= l.slack then return 0 end
  return math.ceil(free + math.max(0, 2 - l.slack))
end

local function describesEnding(l)
  return not l.smooth and now < l.reset - l.period and l.consumed + unitsOf(l, l.cost or 1) <= l.units
end

local function remaining(l)
  if describesEnding(l) then return 0 end
  if not l.smooth then
    if now >= l.reset then return l.units end
    return math.max(0, l.units - l.consumed)
  end
  if now >= l.mark then return l.units end
  local consumed = (l.mark - now) * l.units - partsOf(l)
  return math.max(0, math.floor((l.period * l.units - consumed) / l.period))
end

local function stepsOf(l)
  local steps = costOf(l) * l.period
  local whole = math.floor(steps / l.units)
  return whole, steps - whole * l.units
end

local function consume(l)
  if l.smooth then
    l.restore = l.reset > l.mark and l.reset or 0
    if now < l.mark then l.parts = partsOf(l) else l.mark, l.parts = now, 0 end
    local whole, parts = stepsOf(l)
    l.mark = l.mark + whole
    l.parts = l.parts - parts
    if l.parts < 0 then l.parts, l.mark = l.parts + l.units, l.mark + 1 end
    l.reset = math.max(l.reset, l.mark)
    l.moved = true
  elseif now >= l.reset then l.reset, l.consumed, l.moved, l.restore = now + l.period, costOf(l), true, 0
  elseif l.consumed + costOf(l) > l.units then
    l.restore = l.consumed
    l.reset, l.consumed, l.moved = l.reset + l.period, costOf(l), true
  else
    l.restore = l.consumed > 0 and l.units or -1
    l.consumed = l.consumed + costOf(l)
  end
  save(l)
end

local function announced(l)
  if describesEnding(l) then return l.reset - l.period end
  return math.max(l.reset, now)
end

local function isShared(l)
  return l.role == 'group' or l.role == 'resource'
end

local function windowOf(l)
  if l.smooth then return l.mark end
  return l.reset
end

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

local function countLeases(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + 30000), '+inf')
  return redis.call('ZCARD', key)
end

local function holdLease(key, lease)
  redis.call('ZADD', key, string.format('%.0f', now + 30000), lease)
  redis.call('PEXPIRE', key, 31000)
end

local limits, most, mode, trip = cjson.decode(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
cost = tonumber(ARGV[5])
local index, others, opening = KEYS[#limits + 1], #limits + 1, 0
local described, refusing, longest, partial = 0, 0, 0, 0
local function look(l, i)
  l.part = most > 0 and l.role ~= 'global'
  if l.part then
    others = others + 1
    readPart(l, KEYS[i], index, KEYS[others], most - opening)
    if l.opens then opening = opening + 1 end
  else
    read(l, KEYS[i])
    l.others = most == -2
  end
  l.wait = wait(l)
end
for i, l in ipairs(limits) do
  if l.shadow then break end
  look(l, i)
  if l.others then partial = 2 end
  if l.wait > 0 and (refusing == 0 or (l.wait > longest and limits[refusing].role ~= 'global')) then
    refusing, longest = i, l.wait
  end
  if l.role ~= 'global' and l.role ~= 'group' and described == 0 then described = i end
end
local isFull = ARGV[6] and countLeases(KEYS[#KEYS]) >= tonumber(ARGV[6])
local isNew = false
if trip == '2' then
  if limits[1].shadow then read(limits[1], KEYS[1]) end
  isNew = not limits[1].known
end
if isNew and most == -1 then return { 64, now, 0, 0, 0, 0 } end
if refusing > 0 then
  local l = limits[refusing]
  if l.others then partial = partial + 512 end
  return { partial, now, refusing, 0, announced(l), l.wait }
end
if isFull and ARGV[8] ~= '1' then
  local l = limits[described]
  if not l then return { 1024 + partial, now, 0, 0, 0, 0 } end
  return { 1024 + partial, now, described, (l.cost or 1) > 1 and 0 or remaining(l), announced(l), 0 }
end
local reply, bit = { 1 + partial, now, described, 0, 0, 0 }, 4
if isFull and mode ~= '0' then reply[1] = reply[1] + 4096
elseif ARGV[6] and mode ~= '0' then
  holdLease(KEYS[#KEYS], ARGV[7])
  reply[1] = reply[1] + 2048
end
if isNew and mode ~= '0' then reply[1] = reply[1] + 256 end
for i, l in ipairs(limits) do
  if mode == '0' then break end
  opening = 0
  if l.shadow then look(l, i) end
  if l.wait == 0 then
    consume(l)
    if l.part then notePart(l, index) end
  else reply[1] = reply[1] + bit end
  if l.shadow then bit = bit * 2 end
  if mode == '2' or isShared(l) then
    local isOfOneValue = mode == '2' or not l.others
    reply[#reply + 1] = l.wait == 0 and isOfOneValue and windowOf(l) or 0
  end
end
if mode == '2' then
  for _, l in ipairs(limits) do reply[#reply + 1] = l.restore or 0 end
  for _, l in ipairs(limits) do reply[#reply + 1] = l.others and 1 or 0 end
end
if trip == '1' and most > 0 and held(index) >= most then reply[1] = reply[1] + 128 end
if described > 0 then
  reply[4] = remaining(limits[described])
  reply[5] = announced(limits[described])
end
return reply
