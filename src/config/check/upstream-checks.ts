import { missingSdk } from '../../observe/index.ts';
import { asMap, type ConfigFile, isMap } from '../file/index.ts';

/** Keys of an upstream that only some protocols have a use for, with these protocols. */
const USES: readonly (readonly [path: readonly string[], protocols: readonly string[]])[] = [
  [['h2'], ['h2', 'grpc']],
  [
    ['timeouts', 'first_byte'],
    ['http1', 'h2'],
  ],
  [
    ['timeouts', 'idle'],
    ['http1', 'h2'],
  ],
  [['timeouts', 'websocket_idle'], ['http1']],
  [['max_requests'], ['http1', 'h2']],
  [['max_requests_per_caller'], ['http1', 'h2']],
  [['max_grpc_calls'], ['grpc']],
  [['max_grpc_calls_per_caller'], ['grpc']],
  [['max_websockets'], ['http1']],
  [['max_websockets_per_caller'], ['http1']],
];

/** Reports keys of upstreams that their protocol has no use for. */
export function checkUpstreamProtocols(file: ConfigFile): void {
  const { upstreams } = asMap(file.value);
  for (const [name, value] of Object.entries(asMap(upstreams))) {
    const { protocol = 'http1' } = asMap(value);
    // Validation reports any other.
    if (protocol !== 'http1' && protocol !== 'h2' && protocol !== 'grpc') continue;
    for (const [path, protocols] of USES)
      if (!protocols.includes(protocol) && isSet(value, path))
        addUseless(file, name, path, protocols, protocol);
  }
}

function addUseless(
  file: ConfigFile,
  name: string,
  path: readonly string[],
  protocols: readonly string[],
  protocol: string,
): void {
  const message = `"${path.at(-1)}" is for upstreams with protocol ${protocols.join(' or ')}: this one speaks ${protocol}`;
  file.add(['upstreams', name, ...path], message, { about: 'key' });
}

/** Whether an upstream has a value at this path. An empty map counts as none. */
function isSet(upstream: unknown, path: readonly string[]): boolean {
  let value: unknown = upstream;
  for (const key of path) value = asMap(value)[key];
  return isMap(value) ? Object.keys(value).length > 0 : value !== undefined;
}

/** Warns where spans cannot be exported from here. No error: the gateway may run elsewhere. */
export function checkSpanExport(file: ConfigFile): void {
  const path = ['tracing', 'export'];
  if (!isMap(asMap(asMap(file.value).tracing).export)) return;
  const missing = missingSdk();
  if (missing !== null) file.add(path, missing, { severity: 'warning' });
}
