import { defineScript } from '../connection/index.ts';

/**
 * Shared by the scripts: the arithmetic of `limits/counting/counter.ts`, line for line. Redis' own clock, in whole milliseconds,
 * is used both to measure and to announce.
 *
 * Limits come as JSON, made once per configuration: { smooth, units, period, slack, cost }, with the largest cost of a request.
 * `cost` is what this request consumes, which a script declares and sets; one of the global limit. A counter is a string: "reset
 * consumed" for a window, "mark parts reset" for a smooth limit. The value holds the Reset; a key's expiry only collects garbage.
 *
 * Redis' clock may step back at a failover to a machine whose clock is behind. A counter then seems to come from the future. To
 * lock nobody out until then, it ends one period from now at the latest.
 */
const COUNTERS = `
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
  -- Save it now, or each read would move the end further.
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

-- Notes in l.restore what an undo could not tell from the counter. Of a smooth limit: the Reset if units were returned before, else 0. Of a
-- window: -1 if it was open with nothing consumed, and so stays open; else the units to restore if the window before it still runs. The
-- request that opened a window may be undone before others that joined it, so the last of them closes it.
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
`;

/**
 * Once a caller holds the maximum of main values, further ones share one counter per limit. A sorted set, ordered by Reset, lists
 * the counters held: the caller's own, and those of groups and resources that it opened. KEYS: [n] that set, [n + 1] the shared
 * counter.
 */
const PARTS = `
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
  -- A shared counter that was there already belongs to the caller that opened it.
  if isShared(l) and not l.opens and not l.others then
    redis.call('ZADD', index, 'XX', string.format('%.0f', l.reset), l.key)
  else noteHeld(index, l.reset, l.key) end
end
`;

/** How long a lease is valid unless it is renewed, in milliseconds. */
export const LEASE_MS = 30_000;

/**
 * The requests in flight of one caller in one bucket, for one main value: a sorted set of their leases, by the time at which each
 * ends. A gateway renews the leases of its requests while they run, so those of a gateway that died expire. One that seems to
 * come from the future is from before a step of Redis' clock: it is dropped, and reappears when it is renewed.
 */
const LEASES = `
local function countLeases(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + ${LEASE_MS}), '+inf')
  return redis.call('ZCARD', key)
end

local function holdLease(key, lease)
  redis.call('ZADD', key, string.format('%.0f', now + ${LEASE_MS}), lease)
  redis.call('PEXPIRE', key, ${LEASE_MS + 1_000})
end
`;

/**
 * KEYS: one for each limit, in the order global, caller, group, resource, then those in shadow in the same order; then, if requests have a
 * main value, the set of the counters that the caller holds and, for each limit but a global one, the counter that further values
 * share.
 * ARGV: the limits, each with its role; how many counters for main values a caller may hold; the mode: "0" to look, "1" to
 * consume and return the windows of shared counters, "2" to consume and return all windows; the trip: "0" where this is the whole question; the
 * cost; and, if the requests in flight of the caller are limited, how many there may be, the lease of this one, and "1" if that is in shadow. Then the last of
 * KEYS is the set of leases (see LEASES).
 *
 * In a cluster the set and a shared counter may be on different nodes. Trip "1" asks about the caller's limits, and tells
 * whether the caller holds all that it may. Trip "2" asks about one shared limit, whose KEYS are counters alone. There, and without a
 * main value, the number is 0; it is -1 if the caller may open no counter, and -2 if KEYS are those that further values share.
 *
 * Each limit in shadow decides by itself once the others have admitted the request, and consumes a unit if it admits. It is never described.
 *
 * Returns { code; now; place of the limit described, or 0; remaining; announced reset; wait; windows of the units consumed, 0 for none ... };
 * in mode "2", after the windows, for each limit what an undo restores, and then for each whether it drew on the counter that further values
 * share: 1 or 0.
 * The code is 1 if admitted, else 0; plus 2 if a shared counter of main values had a part in it; plus 4, 8, 16, 32 if the first,
 * second, third, fourth limit in shadow would have refused; plus 64 if there is no counter and none may be opened, so that nothing was
 * decided; plus 128 if the caller holds all that it may; plus 256 if the shared counter was opened; plus 512 if the limit that
 * refused did so by a shared counter of main values; plus 1024 if only the leases refused, the wait being that of the program; plus 2048 if the lease was
 * taken; plus 4096 if the leases would have refused in shadow.
 */
export const DECIDE = defineScript(`${COUNTERS}${PARTS}${LEASES}
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
  -- What was opened before is noted by now.
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
`);

/** Records that a caller has opened a shared counter. KEYS: the set of those that it holds. ARGV: the counter, and its Reset. */
export const NOTE_OPENED = defineScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
${PARTS}
noteHeld(KEYS[1], tonumber(ARGV[2]), ARGV[1])
return 0
`);

/**
 * Returns what a request cost. KEYS: counters. ARGV: their limits, for each the window that its units came from, "refund" or "undo", and the cost. To
 * undo is for a request that was refused after all: it also closes the windows that the request opened, and takes for each limit
 * one ARGV more: what DECIDE said to restore. If requests have a main value, the last of KEYS is then the set of the counters that the caller holds.
 */
export const REFUND = defineScript(`${COUNTERS}
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
      -- It was opened in the slack of the previous window, which is still open: restore that one. It may have had room for a lower cost.
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
`);

/**
 * Renews leases of one set, including those that have expired meanwhile: their requests still run. KEYS: the set. ARGV: the
 * leases.
 */
export const RENEW_LEASES = defineScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
${LEASES}
for _, lease in ipairs(ARGV) do holdLease(KEYS[1], lease) end
return 0
`);

/** Counts the valid leases. KEYS: sets of them. Returns a number for each. */
export const COUNT_LEASES = defineScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = redis.call('ZCOUNT', key, string.format('(%.0f', now), string.format('%.0f', now + ${LEASE_MS}))
end
return counts
`);

/** Ends leases of one set. KEYS: the set. ARGV: the leases. */
export const END_LEASE = defineScript(`
for _, lease in ipairs(ARGV) do redis.call('ZREM', KEYS[1], lease) end
return 0
`);

/**
 * Reads what is left. KEYS and the first two ARGV: as for DECIDE, with limits of one caller, or one shared limit. Returns for
 * each limit: remaining, announced reset, wait.
 */
export const READ_ALLOWANCES = defineScript(`${COUNTERS}${PARTS}
local limits, most = cjson.decode(ARGV[1]), tonumber(ARGV[2])
local index, others, reply = KEYS[#limits + 1], #limits + 1, {}
for i, l in ipairs(limits) do
  if l.role == 'caller' and most > 0 then
    others = others + 1
    readPart(l, KEYS[i], index, KEYS[others], most)
  else read(l, KEYS[i]) end
  for _, number in ipairs({ remaining(l), announced(l), wait(l) }) do reply[#reply + 1] = number end
end
return reply
`);

/**
 * Deletes counters. KEYS: counters; with ARGV, the last one is the set of main values that the caller holds. ARGV: beginnings of
 * names in that set; counters with these names are deleted as well.
 */
export const DROP = defineScript(`
local last = #KEYS
if #ARGV > 0 then last = last - 1 end
for i = 1, last do redis.call('DEL', KEYS[i]) end
if #ARGV == 0 then return 0 end
local index = KEYS[#KEYS]
for _, key in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', '+inf')) do
  for _, start in ipairs(ARGV) do
    if string.sub(key, 1, #start) == start then
      redis.call('DEL', key)
      redis.call('ZREM', index, key)
      break
    end
  end
end
return 0
`);
