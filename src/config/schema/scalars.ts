import { z } from 'zod';

import { parseDurationMs } from '../../core/index.ts';
import { AddressSet } from '../../http/index.ts';
import { parseQuota, type Quota, QuotaError } from '../../limits/index.ts';
import { PatternError, parseGrpcPattern, parseRoutePattern } from '../../routing/index.ts';
import { type HostPort, parseHostPort } from '../model/index.ts';
import {
  GRPC_PATTERN,
  LIMIT_ROUTE_PATTERN,
  PATH_PATTERN,
  QUOTA_OR_OFF_PATTERN,
  QUOTA_PATTERN,
} from './editor-patterns.ts';
import { parseLimitRoute } from './limit-route.ts';
import { parseMomentS } from './moment-value.ts';
import { formatSize, parseSizeBytes } from './size.ts';

// Strings with a grammar. Each has a lenient regular expression for editors, and a parser that decides. The value as written
// is added to a message that begins with "expected", unless the schema hides it (secrecy.ts).

/**
 * A time such as `250ms`, read as milliseconds. The maximum of a day keeps clear of 31 bits, past which Node's timers fire
 * immediately.
 */
export function duration({ min = '1ms', max = '24h' } = {}) {
  const error = 'expected a time such as 250ms, 5s, 10m or 1h';
  return z
    .string({ error })
    .regex(/^\d{1,9}(ms|s|m|h)$/, { error, abort: true })
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      const [minMs = 0, maxMs = 0] = [min, max].map(parseDurationMs);
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
      return refuse(context, `expected a time from ${min} to ${max}`);
    });
}

/** A size such as `16KiB`, read as bytes. */
export function size({ min, max }: { readonly min: number; readonly max: number }) {
  const error = SIZE_EXPECTED;
  return z
    .string({ error })
    .regex(/^\d{1,9}(B|KiB|MiB|GiB)$/, { error, abort: true })
    .transform((text, context) => {
      const bytes = parseSizeBytes(text);
      if (bytes !== undefined && bytes >= min && bytes <= max) return bytes;
      return refuse(context, `expected a size from ${formatSize(min)} to ${formatSize(max)}`);
    });
}

/** `none`, read as null, or a size read as bytes. */
export function sizeOrNone() {
  const error = `expected none or ${SIZE_EXPECTED.replace('expected ', '')}`;
  return z
    .string({ error })
    .regex(/^(none|\d{1,9}(B|KiB|MiB|GiB))$/, { error, abort: true })
    .transform((text, context) => {
      if (text === 'none') return null;
      return parseSizeBytes(text) ?? refuse(context, 'expected a smaller size');
    });
}

/** A percentage such as `25%`, read as a number. */
export function percentage() {
  const error = 'expected a percentage from 1% to 100%';
  return z
    .string({ error })
    .regex(/^([1-9]\d?|100)%$/, { error, abort: true })
    .transform(text => Number(text.slice(0, -1)));
}

/** `off`, read as null, or a rate such as `240B/s`, read as bytes a second. */
export function rateOrOff() {
  const error = 'expected off, or a rate such as 240B/s or 4KiB/s';
  return z
    .string({ error })
    .regex(/^(off|\d{1,9}(B|KiB|MiB|GiB)\/s)$/, { error, abort: true })
    .transform((text, context) => {
      if (text === 'off') return null;
      const bytes = parseSizeBytes(text.slice(0, -'/s'.length)) ?? 0;
      return bytes > 0 ? bytes : refuse(context, error);
    });
}

const SIZE_EXPECTED = 'expected a size such as 512B, 64KiB or 10MiB';

/** `none`, read as 0, or a moment read as seconds since the epoch. Unix seconds may be a number as well. */
export function momentOrNone() {
  const error = 'expected none, a moment such as 2026-01-31T12:00:00Z, or Unix seconds';
  const written = z
    .string({ error })
    .regex(/^(none|\d{1,12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))$/, { error, abort: true });
  return z.union([written, z.int({ error })], { error }).transform((value, context) => {
    if (value === 'none') return 0;
    return parseMomentS(String(value)) ?? refuse(context, error);
  });
}

/** A quota such as `20/5s`. */
export function quota() {
  return z
    .string({ error: 'expected a number and a period such as 20/5s' })
    .meta({ pattern: QUOTA_PATTERN })
    .transform((text, context) => readQuota(text, context));
}

/** `off`, read as null, or a quota such as `1000/1m`. */
export function quotaOrOff() {
  return z
    .string({ error: 'expected off, or a number and a period such as 1000/1m' })
    .meta({ pattern: QUOTA_OR_OFF_PATTERN })
    .transform((text, context) => (text === 'off' ? null : readQuota(text, context)));
}

function readQuota(text: string, context: z.RefinementCtx): Quota {
  try {
    return parseQuota(text);
  } catch (mistake) {
    if (!(mistake instanceof QuotaError)) throw mistake;
    refuseQuoting(context, mistake.message, 'a number and a period such as 20/5s');
    return z.NEVER;
  }
}

export const HOST_PORT_EXPECTED = 'expected host:port such as 0.0.0.0:8080, 127.0.0.1:8080 or "[::]:8080"';
export const HOST_PORT_OR_OFF_EXPECTED = 'expected off, or host:port such as 127.0.0.1:9090 or "[::1]:9090"';

/** Where a listener listens, `0.0.0.0:8080`. */
export function hostPort() {
  const error = HOST_PORT_EXPECTED;
  return z
    .string({ error })
    .regex(HOST_PORT, { error, abort: true })
    .transform((text, context) => parseHostPort(text) ?? refuse(context, error));
}

/** `off`, read as null, or where a listener listens. */
export function hostPortOrOff() {
  const error = HOST_PORT_OR_OFF_EXPECTED;
  return z
    .string({ error })
    .regex(new RegExp(`^off$|${HOST_PORT.source}`), { error, abort: true })
    .transform((text, context): HostPort | null => {
      if (text === 'off') return null;
      return parseHostPort(text) ?? refuse(context, error);
    });
}

const HOST_PORT = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/;

/** Where an upstream is. */
export interface UpstreamUrl extends HostPort {
  readonly tls: boolean;
}

/** An upstream's `http://host:port` or `https://host:port`, read as scheme, host and port. */
export function upstreamUrl() {
  const error = 'expected a URL such as http://api.internal:3000';
  return z
    .string({ error })
    .regex(/^https?:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/, {
      error: whyNoUpstreamUrl,
      abort: true,
    })
    .transform((text, context): UpstreamUrl => {
      const tls = text.startsWith('https:');
      const place = parseHostPort(text.slice(text.indexOf('//') + 2), tls ? 443 : 80);
      return place === undefined || place.port === 0 ? refuse(context, error) : { ...place, tls };
    });
}

/** Explains each near miss. Repeats nothing of the URL, which may contain a password. */
function whyNoUpstreamUrl({ input }: { readonly input?: unknown }): string {
  const rest = /^https?:\/\/(.*)$/i.exec(String(input))?.[1];
  if (rest === undefined)
    return 'expected a URL that starts with http:// or https://, such as http://api.internal:3000';
  if (rest.includes('@'))
    return 'the URL of an upstream cannot contain a user or password: remove everything up to the "@"';
  if (/[/?#]/.test(rest)) {
    return 'the URL of an upstream ends after the port: requests keep their own path, so remove the "/" and everything after it';
  }
  return 'expected a URL such as http://api.internal:3000';
}

/** A route's path, checked by the parser of patterns. */
export function routePath() {
  return z
    .string({ error: 'expected a path such as /v1/things/{id} or /v1/**' })
    .meta({ pattern: PATH_PATTERN })
    .superRefine((path, context) => {
      const message = messageOf(PatternError, () => parseRoutePattern(path, null));
      if (message !== null)
        refuseQuoting(context, message.replace(`path "${path}": `, ''), 'a path such as /v1/things/{id}');
    });
}

/** The gRPC calls of a route, checked by the parser of patterns. */
export function grpcRoute() {
  return z
    .string({ error: GRPC_EXPECTED })
    .meta({ pattern: GRPC_PATTERN })
    .superRefine((text, context) => {
      const message = messageOf(PatternError, () => parseGrpcPattern(text));
      if (message !== null) refuseQuoting(context, message, GRPC_EXPECTED.replace('expected ', ''));
    });
}

const GRPC_EXPECTED = 'expected package.Service/Method or package.Service/*';

/** A line of `routes:` in limits.yaml, which is the key of a map. */
export function limitRoute() {
  return z
    .string()
    .meta({ pattern: LIMIT_ROUTE_PATTERN })
    .superRefine((line, context) => {
      const message = messageOf(PatternError, () => parseLimitRoute(line));
      if (message !== null) context.addIssue({ code: 'custom', message: `is not a route: ${message}` });
    });
}

/** A network such as `10.1.0.0/16`, or one address. */
export function network() {
  const error = 'expected a network or an address such as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7';
  return z
    .string({ error })
    .regex(/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/, { error, abort: true })
    .superRefine((text, context) => {
      const message = messageOf(Error, () => new AddressSet([text]));
      if (message !== null) refuseQuoting(context, message, 'a network such as 10.1.0.0/16');
    });
}

/**
 * A token (RFC 9110, 5.6.2), such as the name of a header field or an authorization scheme. Excludes "*", which the RFC allows
 * but nothing uses: here it would look like a pattern.
 */
export function token(error: string) {
  return z.string({ error }).regex(/^[A-Za-z0-9!#$%&'+.^_`|~-]+$/, { error, abort: true });
}

/** Returns the message of the error that `read` throws; null: it throws none. */
function messageOf(kind: new (message: string) => Error, read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof kind) return error.message;
    throw error;
  }
}

/** Adds an issue whose message repeats the value. For a hidden value or a variable, only `expected` is shown. */
function refuseQuoting(context: z.RefinementCtx, message: string, expected: string): void {
  context.addIssue({ code: 'custom', message, params: { expected } });
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
