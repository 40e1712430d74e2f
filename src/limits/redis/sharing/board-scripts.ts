import { defineScript, REPLY_FORMAT } from '../connection/index.ts';

/**
 * The board in Redis. KEYS: [1] its state, "id:number", where the number counts postings and the id changes when a board is
 * started over; then sorted sets of names: [2] by value, [3] by end, on Redis' clock, [4] by the number of their posting.
 */
const STATE = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local id, posted = string.match(redis.call('GET', KEYS[1]) or '', '^(.*):(%d+)$')
-- A server that evicts keys takes any of the four.
local size = redis.call('ZCARD', KEYS[2])
local isTorn = redis.call('ZCARD', KEYS[3]) ~= size or redis.call('ZCARD', KEYS[4]) ~= size
if isTorn then id, posted = nil, 0 end
posted = tonumber(posted or redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2] or '0')
local function whole(number) return string.format('%.0f', number) end
`;

/**
 * Posts facts and notifies everyone. ARGV: an id in case the board has to be created, the channel, then for each fact its name,
 * value and duration in milliseconds. Of two values of one name the larger wins; of equal ones, the one that lasts longer. The
 * duration 0 withdraws a fact with this value or a smaller one. Returns the id of the board, or nothing if there still is none.
 */
export const POST = defineScript(`${STATE}
local isNew = not id
id = id or ARGV[1]
if isTorn then redis.call('DEL', KEYS[2], KEYS[3], KEYS[4]) end
local over = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', whole(now), 'LIMIT', 0, 200)
local function drop(name)
  for i = 2, 4 do redis.call('ZREM', KEYS[i], name) end
end
for _, name in ipairs(over) do drop(name) end
local before, ttl = posted, math.max(redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[4]))
for i = 3, #ARGV, 3 do
  local name, value, duration = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local ends = now + duration
  local oldEnds = tonumber(redis.call('ZSCORE', KEYS[3], name) or '0')
  local score = oldEnds > now and redis.call('ZSCORE', KEYS[2], name)
  local oldValue = score and tonumber(score)
  if duration == 0 then
    if not oldValue or oldValue <= value then drop(name) end
  elseif not oldValue or value > oldValue or (value == oldValue and ends > oldEnds) then
    posted = posted + 1
    redis.call('ZADD', KEYS[2], whole(value), name)
    redis.call('ZADD', KEYS[3], whole(ends), name)
    redis.call('ZADD', KEYS[4], whole(posted), name)
    ttl = math.max(ttl, ends - now + 60000)
  end
end
if ttl < 1 then return '' end
if posted == before and not isNew then return id end
redis.call('SET', KEYS[1], id .. ':' .. whole(posted), 'PX', whole(ttl))
for i = 2, 4 do redis.call('PEXPIRE', KEYS[i], whole(ttl)) end
-- Without the right to publish, the others still find the facts at their next regular read.
redis.pcall('PUBLISH', ARGV[2], whole(posted))
return id
`);

/**
 * Reads what was posted since the last read. ARGV: the id known, the number read up to, and how many to read at most. Reads from
 * the beginning if the board has another id or has lost what was read. Returns { REPLY_FORMAT, id, number read up to, 1 if there is
 * more, then for each fact its name, its value as text and its remaining milliseconds }.
 */
export const READ = defineScript(`${STATE}
id = id or ''
local from, most = tonumber(ARGV[2]), tonumber(ARGV[3])
if id ~= ARGV[1] or posted < from then from = 0 end
local reply = { ${REPLY_FORMAT}, id, posted, 0 }
if from == posted then return reply end
local names = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. whole(from), '+inf', 'LIMIT', 0, most)
for _, name in ipairs(names) do
  local left = tonumber(redis.call('ZSCORE', KEYS[3], name) or '0') - now
  if left > 0 then
    reply[#reply + 1] = name
    reply[#reply + 1] = redis.call('ZSCORE', KEYS[2], name) or '0'
    reply[#reply + 1] = left
  end
end
if #names == most then
  reply[3], reply[4] = tonumber(redis.call('ZSCORE', KEYS[4], names[most])), 1
end
return reply
`);
