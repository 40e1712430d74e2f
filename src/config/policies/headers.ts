import {
  type FieldOwner,
  ForwardingRules,
  foldName,
  RESERVED_CALL_FIELDS,
  RESERVED_REQUEST_FIELDS,
  RESERVED_RESPONSE_FIELDS,
} from '../../wire/http/index.ts';
import { compareNeutral, type Difference } from '../difference.ts';
import { asList, asMap, type ConfigFile, isMap, type Path, type RawMap } from '../file/index.ts';
import { RequestEdits, ResponseEdits, requestEditsSchema, responseEditsSchema } from './header-fields.ts';
import { listedHeaders } from './listed-headers.ts';
import { type RouteInFile, routePolicy } from './policy.ts';

export const requestHeaders = routePolicy({
  keys: { request_headers: requestEditsSchema },
  forwardOnly: ['request_headers'],
  ruledOut: { request_headers: ({ route, defaults }) => changesCalls(route, defaults.request_headers) },
  compile: ({ request_headers: edits }, { id }) => ({
    requestEdits: edits === undefined ? null : new RequestEdits(edits, id),
  }),
  check(route) {
    checkEdits(route, 'request_headers', whyNotInRequests);
    checkClaims(route);
  },
  describe: ({ requestEdits }) => ({
    'request headers': [
      ...(requestEdits?.sources ?? []).map(([name, placeholders]) => describeSource(name, placeholders)),
      ...(requestEdits?.remove ?? []).map(name => `${name} is removed`),
    ],
  }),
  compare: ({ requestEdits: now }, { requestEdits: before }) => compareEdits('request_headers', now, before),
});

export const responseHeaders = routePolicy({
  keys: { response_headers: responseEditsSchema },
  ruledOut: { response_headers: ({ route, defaults }) => changesCalls(route, defaults.response_headers) },
  compile: ({ response_headers: edits }) => ({
    responseEdits: edits === undefined ? null : new ResponseEdits(edits),
  }),
  check: route => checkEdits(route, 'response_headers', whyNotInResponses),
  describe: ({ responseEdits }) => ({
    'response headers': [
      ...namesOf(responseEdits?.set ?? []).map(name => `${name} is set`),
      ...(responseEdits?.remove ?? []).map(name => `${name} of the upstream is removed`),
    ],
  }),
  compare: ({ responseEdits: now }, { responseEdits: before }) =>
    compareEdits('response_headers', now, before),
});

/** Whether these edits change fields that gRPC calls need, on a route that serves calls. */
function changesCalls({ grpc }: RawMap, edits: unknown): boolean {
  if (grpc === undefined) return false;
  const { set, remove } = asMap(edits);
  const names = [...Object.keys(asMap(set)), ...asList(remove)];
  return names.some(name => RESERVED_CALL_FIELDS.get(String(name)) !== undefined);
}

/** Omits values: they may come from variables. */
function describeSource(name: string, placeholders: readonly string[]): string {
  const from = placeholders.length === 0 ? '' : ` from ${placeholders.join(' and ')}`;
  return `${name} is set${from}; a client's is removed`;
}

function namesOf(fields: readonly string[]): readonly string[] {
  return fields.filter((_, index) => index % 2 === 0);
}

type Edits = Pick<ResponseEdits, 'set' | 'remove'>;
const NONE: Edits = { set: [], remove: [] };

/** Compares edits, none of which refuses requests. Omits values: they may come from variables. */
function compareEdits(key: string, now: Edits | null, before: Edits | null): (Difference | null)[] {
  const inWords = ({ set, remove }: Edits) =>
    [...namesOf(set).map(name => `set ${name}`), ...remove.map(name => `remove ${name}`)].join(', ') ||
    'none';
  const [to, from] = [now ?? NONE, before ?? NONE];
  const [text, textBefore] = [inWords(to), inWords(from)];
  if (text !== textBefore) return [compareNeutral(key, text, textBefore)];
  const valuesBefore = new Map(pairsOf(from.set));
  return pairsOf(to.set)
    .filter(([name, value]) => valuesBefore.get(name) !== value)
    .map(([name]) => compareNeutral(key, `${name} with another value`, 'its own'));
}

function pairsOf(fields: readonly string[]): (readonly [string, string])[] {
  return namesOf(fields).map((name, index) => [name, fields[2 * index + 1] ?? ''] as const);
}

/** The rules for request fields that apply in every configuration. */
const RULES = new ForwardingRules().table;

const OWNERS: Readonly<Record<FieldOwner, string>> = {
  framing: 'it belongs to the connection or frames the message',
  host: 'write "host" under the upstream',
  token: 'the token decides about it: see "authentication" of the route, and "authorization" of its upstream',
  forwarding: 'the gateway says itself where a request came from: see forwarding_headers',
  limits: 'the gateway writes limits into it',
  trace: 'the gateway writes it in every message',
  certificate: 'the gateway sends the certificate of a client in it: see client_certificates of the listener',
  websocket: 'a WebSocket handshake needs it as it is',
  call: 'gRPC calls need it as it is',
};

/** Why routes cannot set or remove a field; `null` if they can. */
type WhyNot = (name: string, route: RouteInFile, removes: boolean) => string | null;

function whyNotInRequests(name: string, { raw, file }: RouteInFile, removes: boolean): string | null {
  // Some services do less for proxies: nginx and IIS do not compress responses to requests with this field.
  if (removes && foldName(name) === 'via') return null;
  const owner = RESERVED_REQUEST_FIELDS.get(name) ?? ofCall(name, raw);
  if (owner !== undefined) return OWNERS[owner];
  const { identity_headers: headers, certificate_field: certificate } = asMap(
    asMap(file.value).access_tokens,
  );
  if (Object.keys(asMap(headers)).some(each => foldName(each) === foldName(name)))
    return 'access_tokens.identity_headers sets it from the token';
  if (typeof certificate === 'string' && foldName(certificate) === foldName(name))
    return 'access_tokens.certificate_field names it';
  const { api_keys: keys } = asMap(file.value);
  if (isMap(keys) && foldName(String(keys.header ?? 'X-API-Key')) === foldName(name))
    return 'clients send API keys in it: see api_keys';
  const rule = RULES.get(name);
  if (rule === 'drop') return 'it is always removed, since services may read another method or path from it';
  if (rule !== undefined && rule !== 'caller' && rule !== 'internal') return OWNERS.forwarding;
  return isListed(name, file) ? 'it is listed in forwarding_headers, so trusted proxies may send it' : null;
}

function whyNotInResponses(name: string, { raw, file }: RouteInFile): string | null {
  const owner = RESERVED_RESPONSE_FIELDS.get(name) ?? ofCall(name, raw);
  if (owner !== undefined) return OWNERS[owner];
  const { cors = 'off' } = asMap(file.value);
  const isOfCors = foldName(name).startsWith('access-control-');
  return isOfCors && isMap(cors) && raw.cors !== false ? 'the gateway writes it by "cors"' : null;
}

function ofCall(name: string, { grpc }: RawMap): FieldOwner | undefined {
  return grpc === undefined ? undefined : RESERVED_CALL_FIELDS.get(name);
}

function isListed(name: string, file: ConfigFile): boolean {
  const listed = Object.values(listedHeaders(file)).flat();
  return listed.some(each => foldName(each) === foldName(name));
}

function checkEdits(route: RouteInFile, key: string, whyNot: WhyNot): void {
  const edits = route.raw[key];
  if (!isMap(edits)) return;
  const set = Object.keys(asMap(edits.set)).map(name => ({ name, at: [key, 'set', name], removes: false }));
  const removed = asList(edits.remove).flatMap((name, index) =>
    typeof name === 'string' ? [{ name, at: [key, 'remove', index], removes: true }] : [],
  );
  if (set.length === 0 && removed.length === 0) addEmpty(route, key, edits);
  const before = new Map<string, Path>();
  for (const { name, at, removes } of [...set, ...removed]) {
    const why = whyNot(name, route, removes);
    const twin = before.get(foldName(name));
    const add = (message: string) =>
      route.add(at, `"${name}" ${message}`, { about: removes ? 'value' : 'key' });
    if (why !== null) add(`cannot be changed by a route: ${why}`);
    else if (twin !== undefined) add(`is named twice, first in line ${route.lineOf(twin)}: keep one`);
    before.set(foldName(name), at);
  }
}

/** Reports maps that change nothing, unless validation reports their content. */
function addEmpty(route: RouteInFile, key: string, edits: RawMap): void {
  const isSound = Object.entries(edits).every(
    ([part, value]) =>
      (part === 'set' && isMap(value)) || (part === 'remove' && Array.isArray(value) && value.length === 0),
  );
  if (isSound) route.add(key, 'changes nothing: write set or remove, or leave it out');
}

/**
 * Reports claims in fields of routes that do not verify tokens. Those from `defaults` may stay: such a field is omitted, and
 * clients cannot send it either.
 */
function checkClaims(route: RouteInFile): void {
  const { request_headers: edits } = route.raw;
  const isDefault = asMap(asMap(route.file.value).defaults).request_headers === edits;
  const why = whyWithoutClaims(route.raw);
  if (why === null || isDefault) return;
  for (const [name, value] of Object.entries(asMap(asMap(edits).set)))
    if (typeof value === 'string' && /\{claim\./.test(value))
      route.add(['request_headers', 'set', name], `no claim is known here: ${why}`);
}

/** Why the callers of a route have no claims; `null` if they may have. */
function whyWithoutClaims({ authentication, accept = ['token'] }: RawMap): string | null {
  if (authentication === 'none') return '"authentication: none" ignores tokens. Leave out one of the two';
  return asList(accept).includes('token') ? null : 'API keys have none, and "accept" names no token';
}
