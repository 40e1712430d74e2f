import { MAX_COUNT } from '../../index.ts';
import { defineScript } from '../connection/index.ts';
import { withWords } from './script-words.ts';

/** Redis' own clock, in whole milliseconds, is used both to measure and to announce. */
const CLOCK = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/**
 * The arithmetic of `limits/counting/counter.ts`, line for line.
 *
 * Limits come as JSON, made once per configuration: { smooth, units, period, ends, slack, cost }, with the largest cost of a request.
 * `ends`, of a limit whose windows are periods of the calendar, are when the last, the current and the next ones end: which is
 * the current one, Redis' clock says, so all gateways agree.
 * `cost` is what this request consumes, which a script sets; one of a limit with `each`. A counter is a string: "reset consumed" for
 * a window, "mark parts reset" for a smooth limit. The value holds the Reset; a key's expiry only collects garbage.
 *
 * Redis' clock may step back at a failover to a machine whose clock is behind. A counter then seems to come from the future. To
 * lock nobody out until then, it ends one period from now at the latest.
 */
const COUNTERS = `${CLOCK}
local cost = 1

local function unitsOf(l, units)
  if units < l.units then return units end
  return l.units
end

local function costOf(l)
  return unitsOf(l, l.each and 1 or cost)
end

local function partsOf(l)
  if l.parts > l.units - 1 then return l.units - 1 end
  return l.parts
end

local function endAfter(l, at)
  for _, stop in ipairs(l.ends or {}) do
    if stop > at then return stop end
  end
  return at + l.period
end

local function startOf(l)
  if not l.ends then return l.reset - l.period end
  for i = 2, #l.ends do
    if l.ends[i] == l.reset then return l.ends[i - 1] end
  end
end

local function save(l)
  local value
  if l.smooth then value = string.format('%.0f %.0f %.0f', l.mark, l.parts, l.reset)
  else value = string.format('%.0f %.0f', l.reset, l.consumed) end
  redis.call('SET', l.key, value, 'PX', l.reset - now + 1000)
end

local function read(l, key)
  l.key = key
  local value = redis.call('GET', key) or ''
  local furthest, ahead = l.ends and endAfter(l, endAfter(l, now)) or now + l.period + l.slack + 1, false
  if l.smooth then
    local mark, parts, reset = string.match(value, '^(%d+) (%d+) (%d+)$')
    l.mark, l.parts, l.reset = tonumber(mark), tonumber(parts), tonumber(reset)
    ahead = l.mark and l.mark > furthest
    if ahead then l.mark, l.parts, l.reset = now + l.period, 0, now + l.period end
  else
    local reset, consumed = string.match(value, '^(%d+) (%d+)$')
    l.reset, l.consumed = tonumber(reset), tonumber(consumed)
    ahead = l.reset and l.reset > furthest
    if ahead then l.reset = endAfter(l, now) end
  end
  -- Save it now, or each read would move the end further.
  if ahead then save(l) end
  l.known = l.reset and now < l.reset
  if not l.known then l.mark, l.parts, l.reset, l.consumed = 0, 0, 0, 0 end
end

local function divided(times, units, by)
  local low = times % 65536
  local upper = (times - low) / 65536 * units
  local wholeUpper = math.floor(upper / by)
  local lower = (upper - wholeUpper * by) * 65536 + low * units
  local wholeLower = math.floor(lower / by)
  return wholeUpper * 65536 + wholeLower, lower - wholeLower * by
end

local function stepsOf(l)
  return divided(l.period, costOf(l), l.units)
end
`;

/**
 * What a caller holds, as sorted sets. Once it holds the maximum of main values, further ones share one counter per limit: a set,
 * ordered by Reset, lists the counters held: the caller's own, and those of groups and resources that it opened.
 */
const HELD = `
local function held(index)
  return redis.call('ZCOUNT', index, string.format('(%.0f', now), '+inf')
end

local function noteHeld(index, reset, key)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', now)
  redis.call('ZADD', index, reset, key)
  redis.call('PEXPIRE', index, math.max(redis.call('PTTL', index), reset - now + 1000))
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
local function holdLease(key, lease)
  redis.call('ZADD', key, now + ${LEASE_MS}, lease)
  redis.call('PEXPIRE', key, ${LEASE_MS + 1_000})
end
`;

/**
 * Decides about a request, or reads what is left.
 *
 * KEYS: one for each limit, in the order global, caller, group, resource, each with its further windows, then those in shadow in the
 * same order; then, if requests
 * have a main value, the set of the counters that the caller holds and, for each limit but a global one, the counter that further
 * values share; then, if a lease is asked for, the set of leases (see LEASES).
 * ARGV: the limits, each with its role; the mode; the step; how many counters for main values a caller may hold; the cost; and, if
 * the requests in flight of the caller are limited, how many there may be, the lease of this one, and "1" if that is in shadow.
 *
 * Each limit in shadow decides by itself, with its further windows, once the others have admitted the request, and consumes a unit of each
 * window if all of them admit. It is never described.
 *
 * Returns { bits of REPLY; now; place of the limit described, or NONE.limit; remaining; announced reset; wait }. What was consumed
 * follows: the window of each limit's units, or NONE.window, and then for each whether it drew on the counter that further values
 * share, 1 or 0. These are the limits whose units can be returned, or all in a step that may have to be undone, which adds for each
 * what an undo restores. An admission ends with remaining and announced reset of each limit with `told`.
 * To read returns REPLY.format, and for each limit: remaining, announced reset, wait.
 */
export const DECIDE = defineScript(
  withWords(`${COUNTERS}${HELD}${LEASES}
local limits, mode, step = cjson.decode(ARGV[1]), ARGV[2], ARGV[3]
local most, isListed = tonumber(ARGV[4]), #KEYS > #limits + (ARGV[6] and 1 or 0)
cost = tonumber(ARGV[5])

local function wait(l)
  if not l.smooth then
    if l.consumed + costOf(l) <= l.units or now >= l.reset - l.slack then return 0 end
    return l.reset - now
  end
  if now >= l.mark then return 0 end
  local whole, parts = stepsOf(l)
  local free = l.mark - now - l.period + whole + (parts - partsOf(l)) / l.units
  if free <= l.slack then return 0 end
  return math.ceil(free + math.max(0, 2 - l.slack))
end

local function endingAt(l)
  local start = not l.smooth and startOf(l)
  if start and now < start and now >= start - l.slack and l.consumed + unitsOf(l, l.cost or 1) <= l.units then return start end
end

local function remaining(l)
  if endingAt(l) then return 0 end
  if not l.smooth then
    if now >= l.reset then return l.units end
    return math.max(0, l.units - l.consumed)
  end
  if now >= l.mark then return l.units end
  local whole, parts = divided(l.mark - now, l.units, l.period)
  return math.max(0, l.units - whole - math.ceil((parts - partsOf(l)) / l.period))
end

local function announced(l)
  return endingAt(l) or math.max(l.reset, now)
end

-- Notes in l.restore what an undo could not tell from the counter. Of a smooth limit: the Reset if units were returned before. Of a
-- window: the units to restore if the window before it still runs, unless it was open with nothing consumed. The request that opened
-- a window may be undone before others that joined it, so the last of them closes it.
local function consume(l)
  if l.smooth then
    l.restore = l.reset > l.mark and l.reset or RESTORE.nothing
    if now < l.mark then l.parts = partsOf(l) else l.mark, l.parts = now, 0 end
    local whole, parts = stepsOf(l)
    l.mark = l.mark + whole
    l.parts = l.parts - parts
    if l.parts < 0 then l.parts, l.mark = l.parts + l.units, l.mark + 1 end
    l.reset = math.max(l.reset, l.mark)
    l.moved = true
  elseif now >= l.reset then l.reset, l.consumed, l.moved, l.restore = endAfter(l, now), costOf(l), true, RESTORE.nothing
  elseif l.consumed + costOf(l) > l.units then
    l.restore = l.consumed
    l.reset, l.consumed, l.moved = endAfter(l, l.reset), costOf(l), true
  else
    l.restore = l.consumed > 0 and l.units or RESTORE.openWindow
    l.consumed = l.consumed + costOf(l)
  end
  save(l)
end

local function isShared(l)
  return l.role == 'group' or l.role == 'resource'
end

local index, others, opening = KEYS[#limits + 1], #limits + 1, 0
local function look(l, i)
  read(l, KEYS[i])
  if step == STEP.others then l.others = true end
  l.part = isListed and l.role ~= 'global'
  if l.part then
    others = others + 1
    if not l.known and held(index) < most - opening then
      l.opens = true
      if mode ~= MODE.read then opening = opening + 1 end
    elseif not l.known then
      read(l, KEYS[others])
      l.others = true
    end
  end
  l.wait = wait(l)
end

local described, refusing, longest, code = nil, nil, 0, REPLY.format
for i, l in ipairs(limits) do
  if l.shadow then break end
  look(l, i)
  if l.others then code = REPLY.format + REPLY.usedOthers end
  local isBehindGlobal = refusing and limits[refusing].role == 'global' and l.role ~= 'global'
  if l.wait > longest and not isBehindGlobal then refusing, longest = i, l.wait end
  if l.role ~= 'global' and l.role ~= 'group' and not described then described = i end
end

-- Of the windows of that limit, the one with the least left, the shortest of equals; where nothing is left, the one that resets last.
local function describe()
  local first = limits[described]
  if not first then return end
  first.left = remaining(first)
  local found = described
  for i = described + 1, #limits do
    local l, best = limits[i], limits[found]
    if l.shadow or l.role ~= first.role then break end
    l.left = remaining(l)
    local isMore = l.left < best.left or (l.left == best.left and l.period < best.period)
    if l.left == 0 and best.left == 0 and announced(l) ~= announced(best) then isMore = announced(l) > announced(best) end
    if isMore then found = i end
  end
  described = found
end

local function replyAbout(place, left, wait)
  return { code, now, place or NONE.limit, left, place and announced(limits[place]) or 0, wait }
end

if mode == MODE.read then
  local reply = { REPLY.format }
  for _, l in ipairs(limits) do
    for _, number in ipairs({ remaining(l), announced(l), l.wait }) do reply[#reply + 1] = number end
  end
  return reply
end

-- Looks at a limit in shadow and its further windows.
local function lookAtTrial(first)
  opening = 0
  local refuses = false
  for i = first, #limits do
    local l = limits[i]
    if l.role ~= limits[first].role then break end
    look(l, i)
    if l.wait > 0 then refuses = true end
  end
  for i = first, #limits do
    if limits[i].role == limits[first].role then limits[i].refused = refuses end
  end
end

local isNew = false
if step == STEP.shared or step == STEP.sharedIfOpen then
  if limits[1].shadow then read(limits[1], KEYS[1]) end
  isNew = not limits[1].known
end
if isNew and step == STEP.sharedIfOpen then
  code = code + REPLY.undecided
  return replyAbout(nil, 0, 0)
end
if refusing then
  if limits[refusing].others then code = code + REPLY.refusedByOthers end
  return replyAbout(refusing, 0, longest)
end

local isFull = false
if ARGV[6] then
  local leases = KEYS[#KEYS]
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
  redis.call('ZREMRANGEBYSCORE', leases, string.format('(%.0f', now + ${LEASE_MS}), '+inf')
  isFull = redis.call('ZCARD', leases) >= tonumber(ARGV[6])
end
if isFull and ARGV[8] ~= '1' then
  code = code + REPLY.refusedAtOnce
  describe()
  local l = limits[described]
  return replyAbout(described, l and (l.cost or 1) == 1 and l.left or 0, 0)
end

code = code + REPLY.admitted
local isUndoable, named = step ~= STEP.whole, {}
if mode == MODE.take then
  if isFull then code = code + REPLY.fullInShadow
  elseif ARGV[6] then
    holdLease(KEYS[#KEYS], ARGV[7])
    code = code + REPLY.leased
  end
  if isNew then code = code + REPLY.opened end
  local bit = REPLY.refusedInShadow
  for i, l in ipairs(limits) do
    -- What was opened before is noted by now.
    if l.shadow and l.refused == nil then lookAtTrial(i) end
    if not l.refused then
      consume(l)
      -- A shared counter that was there already belongs to the caller that opened it.
      local isOfAnother = isShared(l) and not l.opens and not l.others
      if l.part and l.moved and isOfAnother then redis.call('ZADD', index, 'XX', l.reset, l.key)
      elseif l.part and l.moved then noteHeld(index, l.reset, l.key) end
    else code = code + bit end
    if l.shadow then bit = bit * 2 end
    if isUndoable or isShared(l) or l.back then named[#named + 1] = l end
  end
end
if step == STEP.own and isListed and held(index) >= most then code = code + REPLY.full end
describe()
local reply = replyAbout(described, described and limits[described].left or 0, 0)
for _, l in ipairs(named) do reply[#reply + 1] = l.refused and NONE.window or l.smooth and l.mark or l.reset end
for _, l in ipairs(named) do reply[#reply + 1] = l.others and 1 or 0 end
if isUndoable then
  for _, l in ipairs(named) do reply[#reply + 1] = l.restore or RESTORE.nothing end
end
for _, l in ipairs(limits) do
  if l.told then reply[#reply + 1], reply[#reply + 2] = remaining(l), announced(l) end
end
return reply
`),
);

/**
 * Returns what a request cost, or consumes more if the cost is negative. KEYS: counters, and to undo, if requests have a main value,
 * the set of the counters that the caller holds. ARGV: their limits, the mode, the cost, and for each limit the window that its
 * units came from; to undo, then for each what DECIDE said to restore. Returns { REPLY.format }.
 */
export const REFUND = defineScript(
  withWords(`${COUNTERS}
local limits, undoing = cjson.decode(ARGV[1]), ARGV[2] == MODE.undo
local index = KEYS[#limits + 1]
cost = tonumber(ARGV[3])
for i, l in ipairs(limits) do
  local window = tonumber(ARGV[i + 3])
  local restore = undoing and tonumber(ARGV[i + 3 + #limits])
  read(l, KEYS[i])
  if l.known and l.smooth and now < window and now < l.mark then
    local whole, parts = stepsOf(l)
    l.mark = l.mark - whole
    l.parts = partsOf(l) + parts
    if l.parts >= l.units then l.parts, l.mark = l.parts - l.units, l.mark - 1 end
    if undoing then l.reset = math.max(l.mark, restore) end
    l.empty = l.reset <= now
  elseif l.known and not l.smooth and l.reset == window and now < window and l.consumed < ${MAX_COUNT} and (l.consumed > 0 or cost < 0) then
    local units = l.priced and not undoing and cost or costOf(l)
    l.consumed = math.min(${MAX_COUNT}, math.max(0, l.consumed - units))
    l.empty = undoing and restore ~= RESTORE.openWindow and l.consumed == 0
    local start = startOf(l)
    if l.empty and start and start > now then
      -- It was opened in the slack of the previous window, which is still open: restore that one. It may have had room for a lower cost.
      l.reset, l.consumed, l.empty = start, restore, false
    end
  end
  if l.empty then redis.call('DEL', l.key) elseif l.empty == false then save(l) end
  if index and l.role ~= 'global' then
    if l.empty then redis.call('ZREM', index, l.key)
    elseif l.empty == false then redis.call('ZADD', index, 'XX', l.reset, l.key) end
  end
end
return { REPLY.format }
`),
);

/**
 * Changes or counts what callers hold, and returns { REPLY.format; what it counted ... }. ARGV begin with the mode, and go on by it:
 * - renew: the leases of KEYS[1], also those that have expired meanwhile, because their requests still run
 * - end: the leases of KEYS[1]
 * - count: nothing; counts the valid leases of each of KEYS
 * - note: a shared counter that the caller has opened, and its Reset, for the set of counters KEYS[1]
 * - drop: beginnings of names in the set of counters that is then the last of KEYS: deletes the other KEYS, and counters with these names
 */
export const HOLD = defineScript(
  withWords(`${CLOCK}${HELD}${LEASES}
local mode, reply = ARGV[1], { REPLY.format }
if mode == MODE.renew then
  for i = 2, #ARGV do holdLease(KEYS[1], ARGV[i]) end
elseif mode == MODE.end then
  for i = 2, #ARGV do redis.call('ZREM', KEYS[1], ARGV[i]) end
elseif mode == MODE.count then
  for i, key in ipairs(KEYS) do reply[i + 1] = redis.call('ZCOUNT', key, string.format('(%.0f', now), now + ${LEASE_MS}) end
elseif mode == MODE.note then
  noteHeld(KEYS[1], tonumber(ARGV[3]), ARGV[2])
elseif mode == MODE.drop then
  local index = #ARGV > 1 and KEYS[#KEYS] or nil
  for _, key in ipairs(KEYS) do
    if key ~= index then redis.call('DEL', key) end
  end
  for _, key in ipairs(index and redis.call('ZRANGEBYSCORE', index, '-inf', '+inf') or {}) do
    for i = 2, #ARGV do
      if string.sub(key, 1, #ARGV[i]) == ARGV[i] then
        redis.call('DEL', key)
        redis.call('ZREM', index, key)
        break
      end
    end
  end
end
return reply
`),
);
