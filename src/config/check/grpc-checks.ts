import { asMap, type ConfigFile } from '../file/index.ts';
import { routeKeys } from '../schema/index.ts';

/** Keys that concern requests by path and mean nothing for a gRPC call. */
const PATH_ONLY = [
  'methods',
  'semicolons',
  'webhook',
  'websocket',
  'upstream_429',
  'cors',
  'min_body_rate',
  'timeouts',
] as const satisfies readonly (keyof typeof routeKeys)[];

/** What makes a route one of paths or one of gRPC calls, and which upstreams each leads to. */
export function checkGrpc(file: ConfigFile): void {
  const { routes, upstreams } = asMap(file.value);
  if (!Array.isArray(routes)) return;
  checkListeners(
    file,
    routes.findIndex(route => asMap(route).grpc !== undefined),
  );
  for (const [index, route] of routes.entries()) {
    const raw = asMap(route);
    if (raw.grpc !== undefined) checkKeys(file, index, raw);
    else if (raw.path === undefined) addMissing(file, index, raw);
    checkUpstream(file, index, raw, asMap(upstreams));
  }
}

/** @param first index of the first gRPC route; -1 without one */
function checkListeners(file: ConfigFile, first: number): void {
  const { http, grpc = 'off' } = asMap(asMap(file.value).listen);
  const { tls, h2c } = asMap(http);
  if (asMap(asMap(grpc).tls).http2 === false)
    file.add(['listen', 'grpc', 'tls', 'http2'], 'gRPC needs HTTP/2: leave this out');
  if (first === -1 && grpc !== 'off')
    file.add(['listen', 'grpc'], 'no route has "grpc": nothing is served here', { severity: 'warning' });
  const isServed = grpc !== 'off' || h2c === true || (tls !== undefined && asMap(tls).http2 !== false);
  if (first === -1 || isServed) return;
  const message =
    'no listener speaks HTTP/2, which gRPC needs: add "listen.grpc", or "tls" or "h2c: true" to "listen.http"';
  file.add(['routes', first, 'grpc'], message, { severity: 'warning' });
}

function checkKeys(file: ConfigFile, index: number, route: Readonly<Record<string, unknown>>): void {
  const add = (key: string, message: string) => file.add(['routes', index, key], message, { about: 'key' });
  if (route.path !== undefined) add('path', 'a route has "path" or "grpc", not both: write two routes');
  for (const key of PATH_ONLY)
    if (route[key] !== undefined) add(key, `"${key}" says nothing of gRPC calls: leave it out`);
}

/** A misspelt key may be the one that is missing: validation reports it. */
function addMissing(file: ConfigFile, index: number, route: Readonly<Record<string, unknown>>): void {
  const path = ['routes', index];
  const isKnown = Object.keys(route).every(key => Object.hasOwn(routeKeys, key));
  if (isKnown && file.has([...path, 'upstream']))
    file.add(path, 'missing key "path": expected a path such as /v1/things/{id} or /v1/**');
}

function checkUpstream(
  file: ConfigFile,
  index: number,
  { grpc, path, upstream }: Readonly<Record<string, unknown>>,
  upstreams: Readonly<Record<string, unknown>>,
): void {
  if (typeof upstream !== 'string' || !Object.hasOwn(upstreams, upstream)) return;
  const speaksGrpc = asMap(upstreams[upstream]).protocol === 'grpc';
  const at = ['routes', index, 'upstream'];
  if (grpc !== undefined && !speaksGrpc)
    file.add(at, `the upstream "${upstream}" does not say "protocol: grpc", which gRPC calls need`);
  if (path !== undefined && grpc === undefined && speaksGrpc)
    file.add(at, `the upstream "${upstream}" says "protocol: grpc": only routes with "grpc" lead there`);
}
