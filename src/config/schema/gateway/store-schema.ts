import { z } from 'zod';

import { type HostPort, parseHostPort } from '../../model/index.ts';
import { choice, count, pathOfFile, text } from '../plain-values.ts';
import { duration } from '../scalars.ts';
import { secret, unshown } from '../secrecy.ts';

/** `redis://weir@redis.internal:6379/0`, read. */
export interface RedisUrl {
  readonly tls: boolean;
  readonly user: string | null;
  readonly address: HostPort;
  readonly database: number;
}

const REDIS_PORT = 6_379;

/** It may hold a password, by mistake. */
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

/** The part of gateway.yaml about a Redis that all gateways share. What makes sense only together is checked in read-store.ts. */
export const redisStoreSchema = z.strictObject({
  redis: redisUrl().describe(
    'Where Redis is: redis://user@host:port/database, or rediss:// for TLS. The port is 6379 and the database 0 where they are left out, and without a user it is the default one.',
  ),
  mode: choice(['single', 'sentinel', 'cluster'])
    .prefault('single')
    .describe(
      'single: one server. sentinel: the host above is the name of a master, and the sentinels under nodes know where it is. cluster: a Redis Cluster, learnt from the server above and those under nodes.',
    ),
  nodes: z
    .array(node(), { error: 'expected a list of host:port such as [redis-1.internal:26379]' })
    .prefault([])
    .describe('The sentinels, or further nodes of the cluster, as host:port.'),
  password: secret('password')
    .optional()
    .describe(`A variable of the environment that holds the password, "\${REDIS_PASSWORD}".`),
  password_file: pathOfFile()
    .optional()
    .describe('In place of password: a file that holds it. Relative to this file.'),
  sentinel_user: text('expected the name of a user')
    .optional()
    .describe('The user that the gateway is for the sentinels. Left out: the default one.'),
  sentinel_password_file: pathOfFile()
    .optional()
    .describe('A file with the password for the sentinels. Relative to this file.'),
  tls: z
    .strictObject({
      ca_file: pathOfFile().optional().describe('Certificates to trust instead of the usual authorities.'),
      certificate_file: pathOfFile()
        .optional()
        .describe("The gateway's own certificate, for a Redis that asks for one."),
      key_file: pathOfFile().optional().describe('The key of that certificate, unencrypted.'),
    })
    .prefault({})
    .describe('PEM files for rediss://, relative to this file.'),
  prefix: z
    .string({ error: 'expected text such as "weir:"' })
    .regex(/^[A-Za-z0-9._:/-]{0,64}$/, {
      error: 'expected up to 64 letters, digits and any of ".", "_", ":", "/" and "-"',
    })
    .prefault('weir:')
    .describe(
      'What every key and channel in Redis begins with. Gateways with one prefix share their limits.',
    ),
  timeout: duration({ min: '5ms', max: '1s' })
    .prefault('50ms')
    .describe('For one decision in all; then on_failure decides, and the connection is made anew.'),
  on_failure: choice(['local', 'open', 'closed'])
    .prefault('local')
    .describe(
      'What decides while Redis does not. local: each gateway by itself, with every quota divided by their number. open: every request passes. closed: every request is answered 503.',
    ),
  replicas: count(10_000)
    .prefault(1)
    .describe('How many gateways there are, until they have counted one another in Redis.'),
});

/** `store` of gateway.yaml. */
export const storeSchema = z
  .union([z.literal('memory'), redisStoreSchema], {
    error: 'expected memory, or a map such as { redis: "rediss://weir@redis.internal:6379" }',
  })
  .prefault('memory');

export type RedisStoreConfig = z.output<typeof redisStoreSchema>;
