import { defineScript, type RedisConnection, RedisError } from './redis-connection.ts';

/** What the user of the gateway may do at every server. config/gateway.yaml and docs/redis.md list it. */
export const RIGHTS: readonly string[] = [
  ...['eval', 'evalsha', 'get', 'set', 'del', 'incrby', 'expire', 'pexpire', 'pttl', 'time', 'publish'],
  ...['zadd', 'zrem', 'zcard', 'zcount', 'zscore', 'zrange', 'zrangebyscore', 'zremrangebyscore'],
  ...['subscribe', 'client|setname'],
];

/** Runs each command that scripts need, on keys that expire at once. KEYS: text, a sorted set. ARGV: a channel. Returns those refused. */
const TRY_RIGHTS = defineScript(`
local refused, failed = {}, nil
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) ~= 'table' or not reply.err then return end
  -- As Redis 7.0 says it, as later ones and Valkey do, and as older ones do.
  if string.find(reply.err, 'NOPERM', 1, true) or string.find(reply.err, 'ACL failure', 1, true)
    or string.find(reply.err, 'user executing the script', 1, true) then
    refused[#refused + 1] = name
  else failed = failed or reply end
end
local text, set = KEYS[1], KEYS[2]
try('SET', text, '1', 'PX', 1000)
try('GET', text)
try('INCRBY', text, 1)
try('EXPIRE', text, 1)
try('PTTL', text)
try('DEL', text)
try('TIME')
try('ZADD', set, 1, 'member')
try('PEXPIRE', set, 1000)
try('ZCARD', set)
try('ZCOUNT', set, '-inf', '+inf')
try('ZSCORE', set, 'member')
try('ZRANGE', set, 0, -1)
try('ZRANGEBYSCORE', set, '-inf', '+inf')
try('ZREM', set, 'member')
try('ZREMRANGEBYSCORE', set, '-inf', '+inf')
try('PUBLISH', ARGV[1], '')
return failed or refused
`);

type RunsScripts = Pick<RedisConnection, 'prefix' | 'script'>;

/** Writes to the server of this hash tag. Resolves to the commands that it refuses this user; rejects with a RedisError. */
export async function missingRightsAt(connection: RunsScripts, tag: string): Promise<string[]> {
  const text = `${connection.prefix}{${tag}}probe`;
  const channel = `${connection.prefix}probe`;
  const reply = await connection.script(TRY_RIGHTS, [text, `${text}:set`], channel);
  if (!Array.isArray(reply)) throw new RedisError('error', 'Redis gave an unexpected reply to the probe');
  return reply.map(String);
}
