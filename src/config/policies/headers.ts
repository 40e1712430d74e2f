import {
  type FieldOwner,
  ForwardingRules,
  foldName,
  OWNED_OF_CALLS,
  OWNED_OF_REQUESTS,
  OWNED_OF_RESPONSES,
} from '../../wire/http/index.ts';
import { compareNeutral, type Difference } from '../difference.ts';
import { asList, asMap, type ConfigFile, isMap, type Path, type RawMap } from '../file/index.ts';
import type { ExplainedFact } from './fact.ts';
import { RequestEdits, ResponseEdits, requestEditsSchema, responseEditsSchema } from './header-fields.ts';
import { type RouteInFile, routePolicy } from './policy.ts';

/** `request_headers`: fields that the upstream receives, or does not receive. */
export const requestHeaders = routePolicy({
  keys: { request_headers: requestEditsSchema },
  pathOnly: [],
  forwardOnly: ['request_headers'],
  ruledOut: { request_headers: ({ route, defaults }) => changesCalls(route, defaults.request_headers) },
  compile: ({ request_headers: edits }, { id }) => ({
    requestEdits: edits === undefined ? null : new RequestEdits(edits, id),
  }),
  check(written) {
    checkEdits(written, 'request_headers', whyNotInRequests);
    checkClaims(written);
  },
  describe: ({ requestEdits }) =>
    factsAbout('request headers', [
      ...(requestEdits?.sources ?? []).map(([name, placeholders]) => describeSource(name, placeholders)),
      ...(requestEdits?.remove ?? []).map(name => `${name} is removed`),
    ]),
  compare: ({ requestEdits: now }, { requestEdits: before }) => compareEdits('request_headers', now, before),
});

/** `response_headers`: fields that are set on every response, or removed from the upstream's. */
export const responseHeaders = routePolicy({
  keys: { response_headers: responseEditsSchema },
  pathOnly: [],
  ruledOut: { response_headers: ({ route, defaults }) => changesCalls(route, defaults.response_headers) },
  compile: ({ response_headers: edits }) => ({
    responseEdits: edits === undefined ? null : new ResponseEdits(edits),
  }),
  check: written => checkEdits(written, 'response_headers', whyNotInResponses),
  describe: ({ responseEdits }) =>
    factsAbout('response headers', [
      ...namesOf(responseEdits?.set ?? []).map(name => `${name} is set`),
      ...(responseEdits?.remove ?? []).map(name => `${name} of the upstream is removed`),
    ]),
  compare: ({ responseEdits: now }, { responseEdits: before }) =>
    compareEdits('response_headers', now, before),
});

/** Whether a route serves calls, which need a field as it is that these edits change. */
function changesCalls({ grpc }: RawMap, edits: unknown): boolean {
  if (grpc === undefined) return false;
  const { set, remove } = asMap(edits);
  const names = [...Object.keys(asMap(set)), ...asList(remove)];
  return names.some(name => OWNED_OF_CALLS.get(String(name)) !== undefined);
}

function factsAbout(what: string, texts: readonly string[]): ExplainedFact[] {
  return texts.map(text => [what, text]);
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

function whyNotInRequests(name: string, { route, file }: RouteInFile, removes: boolean): string | null {
  // Some services do less for proxies: nginx and IIS compress nothing for a request with this field.
  if (removes && foldName(name) === 'via') return null;
  const owner = OWNED_OF_REQUESTS.get(name) ?? ofCall(name, route);
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

function whyNotInResponses(name: string, { route, file }: RouteInFile): string | null {
  const owner = OWNED_OF_RESPONSES.get(name) ?? ofCall(name, route);
  if (owner !== undefined) return OWNERS[owner];
  const { cors = 'off' } = asMap(file.value);
  const isOfCors = foldName(name).startsWith('access-control-');
  return isOfCors && isMap(cors) && route.cors !== false ? 'the gateway writes it by "cors"' : null;
}

function ofCall(name: string, { grpc }: RouteInFile['route']): FieldOwner | undefined {
  return grpc === undefined ? undefined : OWNED_OF_CALLS.get(name);
}

function isListed(name: string, file: ConfigFile): boolean {
  const value = asMap(file.value).forwarding_headers;
  const listed = Array.isArray(value) ? value : Object.values(asMap(value)).flat();
  return listed.some(each => typeof each === 'string' && foldName(each) === foldName(name));
}

function checkEdits(written: RouteInFile, key: string, whyNot: WhyNot): void {
  const { file, route, path: at } = written;
  const edits = route[key];
  if (!isMap(edits)) return;
  const path = [...at, key];
  const set = Object.keys(asMap(edits.set)).map(name => ({
    name,
    place: [...path, 'set', name],
    about: 'key' as const,
  }));
  const listed = asList(edits.remove);
  const removed = listed.flatMap((name, index) =>
    typeof name === 'string' ? [{ name, place: [...path, 'remove', index], about: 'value' as const }] : [],
  );
  if (set.length === 0 && removed.length === 0) addEmpty(file, path, edits);
  const before = new Map<string, Path>();
  for (const { name, place, about } of [...set, ...removed]) {
    const why = whyNot(name, written, about === 'value');
    const twin = before.get(foldName(name));
    if (why !== null) file.add(place, `"${name}" cannot be changed by a route: ${why}`, { about });
    else if (twin !== undefined)
      file.add(place, `"${name}" is named twice, first in line ${file.place(twin).line}: keep one`, {
        about,
      });
    before.set(foldName(name), place);
  }
}

/** Reports maps that change nothing, unless they contain something that validation reports. */
function addEmpty(file: ConfigFile, path: Path, edits: RawMap): void {
  const isSound = Object.entries(edits).every(
    ([key, value]) =>
      (key === 'set' && isMap(value)) || (key === 'remove' && Array.isArray(value) && value.length === 0),
  );
  if (isSound) file.add(path, 'changes nothing: write set or remove, or leave it out');
}

/**
 * Reports claims of tokens that the route does not verify. Those of `defaults` may stay: a field without a value is left out, and
 * clients cannot send it in its place.
 */
function checkClaims({ file, path, route }: RouteInFile): void {
  const isDefault = asMap(asMap(file.value).defaults).request_headers === route.request_headers;
  const why = whyWithoutClaims(route);
  if (why === null || isDefault) return;
  for (const [name, value] of Object.entries(asMap(asMap(route.request_headers).set))) {
    if (typeof value !== 'string' || !/\{claim\./.test(value)) continue;
    file.add([...path, 'request_headers', 'set', name], `no claim is known here: ${why}`);
  }
}

/** Why the callers of a route have no claims; `null` if they may have. */
function whyWithoutClaims({ authentication, accept = ['token'] }: RawMap): string | null {
  if (authentication === 'none') return '"authentication: none" ignores tokens. Leave out one of the two';
  return asList(accept).includes('token') ? null : 'API keys have none, and "accept" names no token';
}
