import { z } from 'zod';
import { FAILURE_POLICIES } from '../../../core/index.ts';
import {
  choice,
  count,
  duration,
  type HostPort,
  parseHostPort,
  pathOfFile,
  secret,
  text,
  unshown,
} from '../../values/index.ts';
import { clientTlsKeys } from './listen-schema.ts';

/** `redis://weir@redis.internal:6379/0`, parsed. */
export interface RedisUrl {
  readonly tls: boolean;
  readonly user: string | null;
  readonly address: HostPort;
  readonly database: number;
}

const REDIS_PORT = 6_379;

/** Never shown in messages: it may contain a password by mistake. */
function redisUrl() {
  const error = 'write an address such as redis://redis.internal:6379 or rediss://weir@redis.internal:6379/0';
  return unshown(z.string({ error })).transform((url, context): RedisUrl => {
    const match = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/(\d{1,3})?)?$/.exec(url);
    const address = match === null ? undefined : parseHostPort(match[3] ?? '', REDIS_PORT);
    const user = decode(match?.[2] ?? '');
    if (address === undefined || address.port === 0 || user === null) {
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    }
    if (match?.[2]?.includes(':') === true) {
      const message =
        'an address must not contain a password: remove the ":" and the password before the "@", and use password_file';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    return {
      tls: match?.[1] === 'rediss',
      user: user === '' ? null : user,
      address,
      database: Number(match?.[4] ?? 0),
    };
  });
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function node() {
  const error = 'expected host:port such as redis-1.internal:6379';
  return z.string({ error }).transform((text, context) => {
    const place = parseHostPort(text);
    if (place !== undefined && place.port > 0) return place;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** `store` of gateway.yaml as a map: a Redis shared by all gateways. secrets.ts checks how the keys fit together. */
export const redisStoreSchema = z.strictObject({
  redis: redisUrl().describe(
    'The address of Redis: redis://user@host:port/database, or rediss:// for TLS. Defaults: port 6379, database 0, the default user.',
  ),
  mode: choice(['single', 'sentinel', 'cluster'])
    .prefault('single')
    .describe(
      'single: one server. sentinel: the host in redis is the name of a master, which the sentinels under nodes locate. cluster: a Redis Cluster, discovered from the host in redis and the nodes.',
    ),
  nodes: z
    .array(node(), { error: 'expected a list of host:port such as [redis-1.internal:26379]' })
    .prefault([])
    .describe('The sentinels, or additional nodes of the cluster, as host:port.'),
  password: secret('password')
    .optional()
    .describe(`An environment variable that contains the password, "\${REDIS_PASSWORD}".`),
  password_file: pathOfFile()
    .optional()
    .describe('Instead of password: a file that contains it. Relative to this file.'),
  sentinel_user: text('expected the name of a user')
    .optional()
    .describe('The user for the sentinels. Left out: the default user.'),
  sentinel_password_file: pathOfFile()
    .optional()
    .describe('A file with the password for the sentinels. Relative to this file.'),
  tls: z
    .strictObject(clientTlsKeys('a Redis'))
    .prefault({})
    .describe('PEM files for rediss://, relative to this file.'),
  prefix: z
    .string({ error: 'expected text such as "weir:"' })
    .regex(/^[A-Za-z0-9._:/-]{0,64}$/, {
      error: 'expected up to 64 letters, digits and any of ".", "_", ":", "/" and "-"',
    })
    .prefault('weir:')
    .describe(
      'The prefix of every key and channel in Redis. Gateways with the same prefix share their limits.',
    ),
  timeout: duration({ min: '5ms', max: '1s' })
    .prefault('50ms')
    .describe(
      'Timeout of one decision; then on_failure applies. Redis counts as unavailable when replies are late for four times as long.',
    ),
  on_failure: choice(FAILURE_POLICIES)
    .prefault('local')
    .describe(
      'What decides while Redis is unavailable. local: each gateway alone, with every quota divided by the number of gateways. open: every request passes. closed: every request that has a limit gets 503, and the gateway is not ready.',
    ),
  replicas: count(10_000)
    .prefault(1)
    .describe('The assumed number of gateways until they have counted each other in Redis.'),
});

/** `store` of gateway.yaml. */
export const storeSchema = z
  .union([z.literal('memory'), redisStoreSchema], {
    error: 'expected memory, or a map such as { redis: "rediss://weir@redis.internal:6379" }',
  })
  .prefault('memory');

const FOLDER =
  'expected a folder such as /var/lib/weir, or a map such as { folder: /var/lib/weir, counters: 1h }';

/** `state` of gateway.yaml. */
export const stateSchema = z
  .union(
    [
      text(FOLDER),
      z.strictObject({
        folder: text(FOLDER).describe('The folder, relative to this file.'),
        counters: duration({ min: '1m', max: '18h' })
          .optional()
          .describe(
            'The shortest window whose counters are kept as well. Left out: every window starts over. With Redis they are there.',
          ),
      }),
    ],
    {
      error: FOLDER,
    },
  )
  .optional()
  .describe(
    'The folder of files that keep what a gateway must not forget over a restart: revoked tokens, ended sessions, restrictions and lifts. Relative to this file. Left out: nothing is kept. Changes take effect after a restart.',
  );

export type RedisStoreConfig = z.output<typeof redisStoreSchema>;
