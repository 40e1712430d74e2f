import { isIP, isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { socketPath } from '../../core/index.ts';
import { AddressSet, parseTranslator } from '../../wire/http/index.ts';
import { nearestWord } from '../file/index.ts';
import { PatternError, parseRoutePattern } from '../routing/index.ts';
import { text } from './plain-values.ts';
import { messageOf, refuse, refuseQuoting, textOfForm } from './refuse.ts';

export const HOST_PORT_EXPECTED = 'expected host:port such as 0.0.0.0:8080, 127.0.0.1:8080 or "[::]:8080"';
export const HOST_PORT_OR_OFF_EXPECTED = 'expected off, or host:port such as 127.0.0.1:9090 or "[::1]:9090"';

const HOST_PORT = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/;
const SOCKET = /^unix:\/[A-Za-z0-9._/@+-]{1,100}$/;
const OFF = /^off$/;

/** A listener's address, `0.0.0.0:8080`. */
export function hostPort() {
  return listenerPlace<never>(HOST_PORT_EXPECTED, [HOST_PORT]);
}

/** `off`, read as null, or a listener's address. */
export function hostPortOrOff() {
  return listenerPlace<null>(HOST_PORT_OR_OFF_EXPECTED, [OFF, HOST_PORT]);
}

/** The address of a listener for clients: `0.0.0.0:8080`, or a Unix socket. */
export function clientPlace() {
  return listenerPlace<never>(HOST_PORT_EXPECTED, [SOCKET, HOST_PORT]);
}

/** As `clientPlace`, or `off`, read as null. */
export function clientPlaceOrOff() {
  return listenerPlace<null>(HOST_PORT_OR_OFF_EXPECTED, [OFF, SOCKET, HOST_PORT]);
}

/** A Unix socket has the port 0. */
function listenerPlace<Off extends null>(expected: string, forms: readonly RegExp[]) {
  const form = new RegExp(forms.map(({ source }) => source).join('|'));
  const error = forms.includes(SOCKET) ? orSocket(expected) : expected;
  return textOfForm(error, form, (text, context): HostPort | Off => {
    if (text === 'off') return null as Off;
    if (socketPath(text) !== null) return { host: text, port: 0 };
    return parseHostPort(text) ?? refuse(context, expected);
  });
}

/** Keeps the message, unless a Unix socket was probably meant. */
export function orSocket(expected: string) {
  return ({ input }: { readonly input?: unknown }) =>
    typeof input === 'string' && input.startsWith('unix:')
      ? 'expected a socket such as unix:/run/weir/weir.sock: an absolute path of up to 101 letters, digits and "._/@+-"'
      : expected;
}

interface UpstreamUrl extends HostPort {
  readonly tls: boolean;
  /** The path prepended to what is forwarded: canonical, without a trailing slash; '' if there is none. */
  readonly base: string;
  /** How its addresses are looked up: by the system, or by DNS SRV records, which name hosts and ports. */
  readonly lookup: 'system' | 'srv';
}

/** An upstream's `http://host:port/base` or `https://host:port/base`; `srv+http://name/base`, without a port; or `unix:/path`. */
export function upstreamUrl() {
  const error = 'expected a URL such as http://api.internal:3000';
  return z
    .string({ error })
    .regex(
      /^(https?:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?|srv\+https?:\/\/[A-Za-z0-9._-]+)(\/[^?#@]*)?$|^unix:\/[A-Za-z0-9._/@+-]{1,100}$/,
      {
        error: whyNoUpstreamUrl,
        abort: true,
      },
    )
    .transform((text, context): UpstreamUrl => {
      if (socketPath(text) !== null) return { host: text, port: 0, tls: false, base: '', lookup: 'system' };
      const [, srv, scheme, authority = '', base = ''] = URL_PARTS.exec(text) ?? [];
      const tls = scheme === 'https';
      const place = parseHostPort(authority, tls ? 443 : 80);
      if (place === undefined || place.port === 0) return refuse(context, error);
      const why = whyNoBase(text, base);
      if (why !== null) refuseQuoting(context, why, 'a URL such as http://api.internal:3000/base');
      if (srv !== undefined && isIP(place.host) !== 0) return refuse(context, NO_SRV_NAME);
      return { ...place, tls, base, lookup: srv === undefined ? 'system' : 'srv' };
    });
}

const URL_PARTS = /^(srv\+)?(https?):\/\/([^/]*)(.*)$/;
const NO_SRV_NAME =
  'SRV records belong to a name, such as srv+http://_http._tcp.api.internal: write an address with http:// alone';

/** Returns what to write instead of a base that is not canonical. */
function whyNoBase(url: string, base: string): string | null {
  if (base === '') return null;
  if (base.endsWith('/')) {
    const [instead, baseOfInstead] = [url, base].map(text => text.replace(/\/+$/, ''));
    return (
      whyNoBase(instead ?? '', baseOfInstead ?? '') ??
      `the URL of an upstream ends without a slash: write ${instead}`
    );
  }
  if (base.includes(';')) return 'services disagree about a ";" in a path: leave it out of the URL';
  const why = messageOf(PatternError, () => parseRoutePattern(base, null));
  if (why !== null) return `the path of the URL: ${why.replace(`path "${base}": `, '')}`;
  return /[{*]/.test(base)
    ? 'the path of the URL is the same for all requests: write it without {} and *'
    : null;
}

const NO_HTTP =
  'services are asked by HTTP: let this one serve HTTP itself, or put a server in front of it that speaks both (nginx, Caddy)';

const WEBSOCKET = 'write http:// (https:// for wss), and websocket: true on the route';
const GRPC = 'write http:// (https:// for grpcs) and protocol: grpc';

/** What to write for the schemes of other gateways. */
const OTHER_SCHEMES: ReadonlyMap<string, string> = new Map([
  ...['ws', 'wss'].map(scheme => [scheme, WEBSOCKET] as const),
  ...['grpc', 'grpcs'].map(scheme => [scheme, GRPC] as const),
  ...['fastcgi', 'fcgi', 'uwsgi', 'scgi', 'ajp'].map(scheme => [scheme, NO_HTTP] as const),
  ['h2c', 'write http:// and protocol: h2'],
  ['h2', 'write https:// and protocol: h2'],
]);

/** Explains each near miss. Repeats nothing of the URL, which may contain a password. */
function whyNoUpstreamUrl({ input }: { readonly input?: unknown }): string {
  if (typeof input === 'string' && input.startsWith('unix:'))
    return 'expected the path of a socket such as unix:/run/app.sock: absolute, up to 101 letters, digits and "._/@+-"';
  const [, srv, rest] = /^(srv\+)?https?:\/\/(.*)$/i.exec(String(input)) ?? [];
  if (rest === undefined) {
    const [scheme = ''] = String(input).split('://', 1);
    return (
      OTHER_SCHEMES.get(scheme.toLowerCase()) ??
      'expected a URL that starts with http:// or https://, such as http://api.internal:3000'
    );
  }
  if (rest.includes('@'))
    return 'the URL of an upstream cannot contain a user or password: remove everything up to the "@"';
  if (/[?#]/.test(rest)) {
    return 'the URL of an upstream ends with its path: requests keep their own query, so remove the "?" or "#" and everything after it';
  }
  if (srv !== undefined && rest.startsWith('[')) return NO_SRV_NAME;
  if (srv !== undefined && /^[^/]*:\d*(\/|$)/.test(rest))
    return 'SRV records name the ports themselves: remove the port from the URL';
  return 'expected a URL such as http://api.internal:3000';
}

const HOST_EXPECTED = 'expected client, upstream, or a name such as api.internal';

/** The `Host` for an upstream: the client's (`client`), that of the URL (`upstream`), or this name, with a port if needed. */
export function hostChoice() {
  return z
    .string({ error: HOST_EXPECTED })
    .meta({ pattern: HOST_PATTERN })
    .superRefine((text, context) => {
      const message = parseHostPort(text, 80) === undefined ? notAHost(text) : misspeltChoice(text);
      if (message !== null) refuseQuoting(context, message, HOST_EXPECTED.replace('expected ', ''));
    });
}

const HOST_PATTERN = '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)(:\\d{1,5})?$';

function notAHost(text: string): string {
  const [, authority = ''] = /^https?:\/\/([^/@]+)\/?$/i.exec(text) ?? [];
  return parseHostPort(authority, 80) === undefined
    ? HOST_EXPECTED
    : `a host has no scheme: write ${authority.startsWith('[') ? JSON.stringify(authority) : authority}`;
}

/** Detects a misspelt `client` or `upstream`, which would be taken for a host name. */
function misspeltChoice(text: string): string | null {
  const choices = ['client', 'upstream'];
  const near = nearestWord(text, choices);
  if (near === undefined || choices.includes(text)) return null;
  if (!/^[A-Za-z]+$/.test(text) || Math.abs(near.length - text.length) > 1) return null;
  return `write ${near}, or "${text}:80" for a host of this name`;
}

/** Why an http or https URL for which `hasOddIpv4` is true may not be used. */
export const ODD_IPV4 =
  'the host is an IPv4 address in an unusual form: write four decimal numbers, such as 127.0.0.1';

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

/** A caller, by each claim that identifies it: `{ client: web, subject: alice }`. The checks compare them with gateway.yaml. */
export function callerEntry() {
  const error = 'expected a caller such as { client: web, subject: alice }';
  return z.record(z.string(), text('expected text, in quotes if it is a number'), { error });
}

export function networkOrCaller() {
  const error =
    'expected a network such as 192.0.2.0/24, or a caller such as { client: web, subject: alice }';
  return z.union([network(), callerEntry()], { error });
}

/** A network in which a translator embeds IPv4 addresses. */
export function translatorPrefix() {
  const error = 'expected an IPv6 network such as 2001:db8:64::/96';
  return z
    .string({ error })
    .regex(/^[0-9A-Fa-f:.]+\/\d{1,3}$/, { error, abort: true })
    .superRefine((text, context) => {
      const message = messageOf(Error, () => parseTranslator(text));
      if (message !== null) refuseQuoting(context, message, 'an IPv6 network such as 2001:db8:64::/96');
    });
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host:port`: a name, an IPv4 address or a bracketed IPv6 address, and a port from 0 to 65535.
 *
 * @param defaultPort used if `:port` is missing; if undefined, the port is required @returns the host without brackets; undefined
 *   if the text is not `host:port`
 */
export function parseHostPort(text: string, defaultPort?: number): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name, digits] = match;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === undefined || port > 65535) return undefined;
  if (v6 !== undefined) return isIPv6(v6) ? { host: v6, port } : undefined;
  return name !== undefined && isHost(name) ? { host: name, port } : undefined;
}

function isHost(name: string): boolean {
  if (isIPv4(name)) return true;
  // RFC 1123, 2.1 limits the lengths. Underscores are not allowed in host names, but many service names have them.
  if (name.length > 253 || !/^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$/.test(name)) return false;
  const labels = name.replace(/\.$/, '').split('.');
  // A name that ends in a number is a mistyped IPv4 address: `256.1.1.1`, `10.1`, `0x7f.1`.
  if (/^(\d+|0[xX][0-9A-Fa-f]*)$/.test(labels.at(-1) ?? '')) return false;
  return labels.every(label => label.length > 0 && label.length <= 63);
}
