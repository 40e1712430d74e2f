import { missingSdk } from '../../observe/index.ts';
import { asMap, type ConfigFile, isMap } from '../file/index.ts';
import { PROTOCOL_KEYS } from '../schema/index.ts';
import type { ProtocolKey } from '../values/index.ts';

/** Reports keys of upstreams that their protocol has no use for. */
export function checkUpstreamProtocols(file: ConfigFile): void {
  const { upstreams } = asMap(file.value);
  for (const [name, value] of Object.entries(asMap(upstreams))) {
    const { protocol = 'http1' } = asMap(value);
    // Validation reports any other.
    if (protocol !== 'http1' && protocol !== 'h2' && protocol !== 'grpc') continue;
    for (const key of PROTOCOL_KEYS)
      if (!key.protocols.includes(protocol) && isSet(value, key.path)) addUseless(file, name, key, protocol);
  }
}

function addUseless(
  file: ConfigFile,
  name: string,
  { path, protocols }: ProtocolKey,
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
