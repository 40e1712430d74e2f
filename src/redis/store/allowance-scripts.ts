import { defineScript } from '../connection/index.ts';
import { COUNTERS, PARTS } from './counter-scripts.ts';

/**
 * Reads what is left. KEYS and the first two ARGV: as for DECIDE, with limits of one caller, or one resource. Returns for each limit:
 * remaining, announced reset, wait.
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
 * Forgets counters. KEYS: counters; if there are ARGV, the last one is the set of main values that the caller holds. ARGV: how the
 * names of further counters begin, which are among those.
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
