import { formatHostPort, type LoadedRoute, type RouteModel, type UpstreamModel } from '../config/index.ts';
import type { Fact } from './fact.ts';

/** What a route does with the requests it takes. */
export function describeRoute(route: LoadedRoute, params: readonly string[]): Fact[] {
  const { value } = route;
  const { upstream } = value;
  return [
    routeFact(route),
    ...value.parameters.map((name, index): Fact => ['parameters', `${name} = ${params[index] ?? ''}`]),
    ['upstream', `${upstream.name}, http://${formatHostPort(upstream.options)}`],
    ['authentication', 'none: everyone may use it'],
    ['Authorization', upstream.passAuthorization ? 'passed on as it came' : 'removed'],
    ['Host', upstream.hostHeader ?? "the client's own"],
    ['body', describeBody(value)],
    ['semicolons', value.semicolons === 'pass' ? 'passed on' : 'refused with 400'],
    ['timeouts', describeTimeouts(value, upstream)],
    ['caps', `${upstream.maxRequests} requests to the upstream in flight`],
  ];
}

/** Which route it is, and where it is written. */
export function routeFact({ value, file, line }: LoadedRoute): Fact {
  return ['route', `${value.id} (${file}:${line})`];
}

function describeBody({ maxBodyBytes }: RouteModel): string {
  return maxBodyBytes === null ? 'of any size' : `up to ${formatSize(maxBodyBytes)}, beyond it 413`;
}

function describeTimeouts(route: RouteModel, upstream: UpstreamModel): string {
  const times = [
    ['connect', upstream.options.connectTimeoutMs],
    ['first byte', route.firstByteTimeoutMs],
    ['idle', route.idleTimeoutMs],
  ] as const;
  return times.map(([name, ms]) => `${name} ${formatDuration(ms)}`).join(', ');
}

/** The largest unit that leaves no fraction, as in the configuration. */
function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (bytes >= 1024 && bytes % 1024 === 0 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  return `${bytes}${units[unit]}`;
}
