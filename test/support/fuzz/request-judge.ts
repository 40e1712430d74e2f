import { type CapturedRequest, values } from '../wire/index.ts';
import type { ReferenceRequest } from './reference.ts';

/** Header fields of which the upstream must see only what the gateway wrote, in lower case. */
const OWN: Readonly<Record<string, (value: string, address: string, host: string) => boolean>> = {
  'x-forwarded-for': (value, address) => value === address,
  'x-forwarded-proto': value => value === 'http',
  'x-forwarded-host': (value, _, host) => value === host,
  'x-request-id': value => /^[A-Za-z0-9._-]{1,64}$/.test(value) && !value.includes('forged'),
};
const NEVER =
  /^(forwarded|x-forwarded-(?!for$|proto$|host$).*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|proxy|x-auth-subject|x-http-method-override|x-method-override|x-http-method|x-original-url|x-rewrite-url|te|trailer|upgrade|keep-alive|proxy-connection|expect)$/;

/** Names that say how long a body is: what is spelt like them could be taken for them. */
const FRAMING = /^(content-length|transfer-encoding)$/;

/**
 * What is wrong with the requests that reached the upstream from one client connection, given what a careful reader
 * makes of the client's bytes: more requests than it sent, another method, path or body, a forged header. Null: nothing.
 */
export function judgeRequests(
  captured: readonly CapturedRequest[],
  sent: readonly ReferenceRequest[],
  address: string,
): string | null {
  let next = 0;
  for (const request of captured) {
    while (next < sent.length && !isSame(request, sent[next])) next++;
    if (next === sent.length) return `${request.method} ${request.target} is none of those sent`;
    next++;
    const forged = forgedField(request, address);
    if (forged !== null) return forged;
  }
  return null;
}

function isSame(captured: CapturedRequest, sent: ReferenceRequest | undefined): boolean {
  if (sent === undefined || captured.method !== sent.method || sent.host === null) return false;
  if (values(captured.fields, 'host').join() !== sent.host) return false;
  if (!isCanonical(captured.target)) return false;
  const target = sent.target.replace(/^https?:\/\/[^/?]*/i, '');
  if (unescaped(captured.target) !== unescaped(onTheWire(target, sent.host))) return false;
  if (captured.trailers.length > 0) return false;
  const body = captured.body.toString('latin1');
  return captured.complete ? sent.complete && body === sent.body : sent.body.startsWith(body);
}

/**
 * What the service gets for a target: routes with a host are asked first, and `/a/**` and `b.test/b/**` take the first segment away. The
 * path of the URL of its service tells which route it was.
 */
function onTheWire(target: string, hostAndPort: string): string {
  const [, first = '', rest = '', query = ''] = /^\/([^/?]*)([^?]*)(.*)$/s.exec(target) ?? [];
  const host = hostAndPort.replace(/:\d+$/, '');
  if (host === 'a.test') return `/of-a${target.startsWith('/') ? target : `/${target}`}`;
  if (/^[^.]+\.w\.test$/.test(host)) return `/of-w${target.startsWith('/') ? target : `/${target}`}`;
  const segment = decoded(first).replace(/;.*/s, '').toLowerCase();
  if (segment !== 'a' && (segment !== 'b' || host !== 'b.test')) return target;
  return `${segment === 'a' ? '/base' : '/of-b'}${rest === '' ? '/' : rest}${query}`;
}

/** What no path on the wire holds: empty segments, dot segments, and escapes in another spelling than the canonical one. */
const TWO_READINGS =
  /\/\/|\/\.\.?(?:[/;]|%3B|$)|\\|%(?![0-9A-F]{2})|%(?:2[DEF]|3\d|4[1-9A-F]|5[0-9ACF]|6[1-9A-F]|7[0-9AEF]|[01].)/;

function isCanonical(target: string): boolean {
  return target.startsWith('/') && !TWO_READINGS.test(target.replace(/\?.*/s, ''));
}

/** The path with its escapes decoded once, the query as it is. */
function unescaped(target: string): string {
  const [path = '', ...query] = target.split('?');
  const plain = decoded(path);
  return [plain === '' ? '/' : plain, ...query].join('?');
}

function decoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function forgedField({ fields }: CapturedRequest, address: string): string | null {
  const host = values(fields, 'host').join();
  for (const [name, isOwn] of Object.entries(OWN)) {
    const found = values(fields, name);
    if (found.length !== 1 || !isOwn(found[0] ?? '', address, host))
      return `${name}: ${JSON.stringify(found)}`;
  }
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] ?? '').toLowerCase();
    const folded = name.replace(/[^a-z0-9]/g, '-');
    if (NEVER.test(folded) || (name !== folded && (OWN[folded] !== undefined || FRAMING.test(folded))))
      return `${fields[i]}: ${fields[i + 1]}`;
  }
  return null;
}
