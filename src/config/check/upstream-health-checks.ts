import { asMap, type ConfigFile, isMap, type Path } from '../file/index.ts';
import { upstreamKeys } from '../schema/index.ts';

/** Reports health checks without a path, and those that would overlap. */
export function checkUpstreamHealth(file: ConfigFile): void {
  for (const [name, value] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const { health, protocol } = asMap(value);
    if (!isMap(health)) continue;
    const path = ['upstreams', name, 'health'];
    // A check by gRPC needs no name: without one it asks about the whole server.
    if (health.path === undefined && protocol !== 'grpc')
      file.add(path, 'missing key "path": expected a path such as /healthz');
    checkTimeout(file, path, health);
  }
}

function checkTimeout(file: ConfigFile, path: Path, health: object): void {
  // Validation reports invalid values.
  const { data } = upstreamKeys.health.safeParse(health);
  if (data === undefined || data.timeout < data.every) return;
  const message = `a check has to end before the next begins: "timeout" (${data.timeout / 1_000}s) must be less than "every" (${data.every / 1_000}s)`;
  file.add([...path, 'timeout' in health ? 'timeout' : 'every'], message);
}
