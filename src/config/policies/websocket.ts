import { formatDuration } from '../../core/index.ts';
import { compareStrictness, compareTimes } from '../difference.ts';
import { asMap } from '../file/index.ts';
import { yesOrNo } from '../values/index.ts';
import { type DefaultedRoute, type RouteInFile, routePolicy } from './policy.ts';
import { upstreamsNamed } from './shares.ts';

export const websocket = routePolicy({
  keys: {
    websocket: yesOrNo(false).describe(
      'Whether it serves WebSockets, in addition to ordinary requests. false: a request for one is answered 501.',
    ),
  },
  pathOnly: ['websocket'],
  forwardOnly: ['websocket'],
  ruledOut: { websocket: given => given.defaults.websocket === true && !opens(given) },
  compile: ({ websocket }, { upstream, timeouts }) => ({
    /** The pool that its WebSockets take their permits from, and how long one may be silent; `null` if it serves none. */
    websocket:
      websocket && upstream !== null && timeouts !== null
        ? { pool: upstream.pools.websockets, idleMs: timeouts.websocket_idle }
        : null,
  }),
  check(route) {
    const { websocket = false, timeouts } = route.raw;
    if (websocket === true) checkServed(route);
    else if (websocket === false && asMap(timeouts).websocket_idle !== undefined)
      route.add(['timeouts', 'websocket_idle'], 'this route serves no WebSockets: add "websocket: true"');
  },
  section: 'websocket',
  describe: ({ websocket }) => ({
    WebSockets: websocket && `served, ended after ${formatDuration(websocket.idleMs)} without traffic`,
  }),
  compare: ({ websocket: now }, { websocket: before }) => [
    compareStrictness(now === null, before === null, 'serves no WebSockets'),
    compareTimes('websocket_idle', now?.idleMs ?? null, before?.idleMs ?? null),
  ],
});

/** Whether WebSockets can be opened on a route. */
function opens({ route, upstreams }: DefaultedRoute): boolean {
  if (Array.isArray(route.methods) && !route.methods.includes('GET')) return false;
  return upstreamsNamed(route, []).every(({ name }) => asMap(upstreams[name]).protocol !== 'h2');
}

function checkServed(route: RouteInFile): void {
  const { methods, upstream } = route.raw;
  if (Array.isArray(methods) && !methods.includes('GET'))
    route.add('methods', 'a WebSocket begins with a GET: add GET, or remove "websocket"');
  // The checks for gRPC report a gRPC upstream, which cannot serve paths.
  if (route.upstream.protocol === 'h2')
    route.add('websocket', `WebSockets need HTTP/1.1: the upstream "${upstream}" speaks h2`);
}
