import { asMap, type ConfigFile } from '../file/index.ts';

/** What a route's `websocket` says about its other keys and its upstream. */
export function checkWebSockets(file: ConfigFile): void {
  const { routes, upstreams } = asMap(file.value);
  if (!Array.isArray(routes)) return;
  for (const [index, value] of routes.entries()) {
    const route = asMap(value);
    if (route.websocket === true) checkServed(file, index, route, asMap(upstreams));
    else if (asMap(route.timeouts).websocket_idle !== undefined && isOff(route.websocket))
      file.add(
        ['routes', index, 'timeouts', 'websocket_idle'],
        'this route serves no WebSockets: add "websocket: true"',
      );
  }
}

function checkServed(
  file: ConfigFile,
  index: number,
  { methods, upstream }: Readonly<Record<string, unknown>>,
  upstreams: Readonly<Record<string, unknown>>,
): void {
  if (Array.isArray(methods) && !methods.includes('GET'))
    file.add(['routes', index, 'methods'], 'a WebSocket begins with a GET: add GET, or remove "websocket"');
  const { protocol } = asMap(typeof upstream === 'string' ? upstreams[upstream] : null);
  // Of gRPC, which serves no paths at all, grpc-checks.ts speaks.
  if (protocol === 'h2')
    file.add(
      ['routes', index, 'websocket'],
      `WebSockets need HTTP/1.1: the upstream "${upstream}" speaks h2`,
    );
}

function isOff(websocket: unknown): boolean {
  return websocket === undefined || websocket === false;
}
