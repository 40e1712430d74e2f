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

local limits = cjson.decode(ARGV[1])
local undoing, index = ARGV[#limits + 2] == 'undo', KEYS[#limits + 1]
cost = tonumber(ARGV[#limits + 3])
for i, l in ipairs(limits) do
  local window = tonumber(ARGV[i + 1])
  local restore = undoing and tonumber(ARGV[#limits + 3 + i])
  read(l, KEYS[i])
  if l.known and l.smooth and now < window and now < l.mark then
    local whole, parts = stepsOf(l)
    l.mark = l.mark - whole
    l.parts = partsOf(l) + parts
    if l.parts >= l.units then l.parts, l.mark = l.parts - l.units, l.mark - 1 end
    if undoing then l.reset = math.max(l.mark, restore) end
    l.empty = l.reset <= now
  elseif l.known and not l.smooth and l.reset == window and now < window and l.consumed > 0 then
    l.consumed = math.max(0, l.consumed - costOf(l))
    l.empty = undoing and restore >= 0 and l.consumed == 0
    if l.empty and l.reset - l.period > now then
      l.reset, l.consumed, l.empty = l.reset - l.period, restore, false
    end
  end
  if l.empty then redis.call('DEL', l.key) elseif l.empty == false then save(l) end
  if index and l.role ~= 'global' then
    if l.empty then redis.call('ZREM', index, l.key)
    elseif l.empty == false then redis.call('ZADD', index, 'XX', string.format('%.0f', l.reset), l.key) end
  end
end
return 0
