import { type Machine, usableMemory } from '../../core/index.ts';
import type { ConfigFile, Diagnostic, RawMap } from '../file/index.ts';
import { asMap, isMap } from '../file/index.ts';
import type { MemoryModel, MemoryNeed, Snapshot } from '../model/index.ts';
import * as model from '../model/index.ts';
import { upstreamsNamed } from '../policies/index.ts';
import { workersSchema } from '../schema/index.ts';
import { formatSize } from '../values/index.ts';
import { countWorkers } from './worker-count.ts';

const { connections, requests, webSockets, limitKeys, tokens } = model.CAP_COSTS;

/** Default maximum of requests or calls in flight to an upstream. */
const MAX_TO_UPSTREAM = 1_024;
/** Default maximum of connections or requests of an address. */
const MAX_OF_ADDRESS = 1_000;

/**
 * Fills in caps that default to a share of the machine's memory. Runs before validation, so that all readers see the same
 * numbers.
 */
export function fillMemoryDefaults(file: ConfigFile, machine: Machine): void {
  const { value } = file;
  if (!isMap(value)) return;
  const usableBytes = usableMemory(machine);
  const room = model.roomForCaps(usableBytes, workersIn(value, machine));
  const part = (most: number, among = 1) => Math.max(1, Math.min(most, Math.floor((most * room) / among)));
  fill(value, { caps: {} });
  fill(value.caps, {
    connections: part(connections.most),
    connections_per_address: part(MAX_OF_ADDRESS),
    requests: part(requests.most),
    requests_per_address: part(MAX_OF_ADDRESS),
    limit_keys: part(limitKeys.most),
    buffered: formatSize(model.defaultBufferedBytes(usableBytes)),
  });
  fill(value.access_tokens, { cache: {} });
  fill(asMap(value.access_tokens).cache, { tokens: part(tokens.most, countProviders(value)) });
  const toUpstream = Math.min(MAX_TO_UPSTREAM, Math.ceil(part(requests.most) / 2));
  const ofWebSockets = part(webSockets.most, Math.max(1, countWithWebSockets(value)));
  for (const upstream of Object.values(asMap(value.upstreams))) {
    const { protocol = 'http1' } = asMap(upstream);
    if (protocol === 'grpc') fill(upstream, { max_grpc_calls: toUpstream });
    else fill(upstream, { max_requests: toUpstream });
    if (protocol === 'http1') fill(upstream, { max_websockets: ofWebSockets });
  }
}

/** Adds missing keys to a map. In place, since the file fills in the values of variables later. */
function fill(map: unknown, defaults: RawMap): void {
  if (!isMap(map)) return;
  for (const [key, value] of Object.entries(defaults))
    if (map[key] === undefined) Object.assign(map, { [key]: value });
}

/** How many workers a file requests, which may be a variable's text; 1 if that is invalid. */
function workersIn({ workers = 1 }: RawMap, machine: Machine): number {
  const read = workersSchema.safeParse(workers === 'auto' ? workers : Number(workers));
  return read.success ? countWorkers(read.data, machine).count : 1;
}

/** Each provider has its own tables of tokens. */
function countProviders({ identity_providers: several }: RawMap): number {
  return Array.isArray(several) ? Math.max(1, several.length) : 1;
}

/** How many upstreams have routes that serve WebSockets. */
function countWithWebSockets({ routes }: RawMap): number {
  const serving = (Array.isArray(routes) ? routes : [])
    .map(asMap)
    .filter(({ websocket }) => String(websocket) === 'true');
  return new Set(serving.flatMap(route => upstreamsNamed(route, []).map(({ name }) => name))).size;
}

/** Adds up what clients may take under the caps of a configuration, and compares it with what the process may use. */
export function memoryOf(
  { caps, workers, upstreams, routes, maxTokens }: MemoryParts,
  usableBytes: number,
): MemoryModel {
  const { count } = workers;
  const serving = new Set(
    routes.flatMap(route => (route.kind === 'forward' && route.websocket !== null ? servedBy(route) : [])),
  );
  const needs = [
    { key: 'workers', bytes: model.processBytes(count) },
    { key: 'caps.buffered', bytes: caps.bufferedBytes },
    need(connections, caps.connections, count),
    need(requests, caps.requests, count),
    need(limitKeys, caps.limitKeys, count),
    need(tokens, maxTokens, count),
    ...upstreams
      .filter(({ name }) => serving.has(name))
      .map(({ name, pools }) => ({
        ...need(webSockets, pools.websockets.max, count),
        key: webSockets.key.replace('NAME', name),
      })),
  ].toSorted((a, b) => b.bytes - a.bytes);
  const totalBytes = needs.reduce((sum, { bytes }) => sum + bytes, 0);
  return { usableBytes, totalBytes, needs };
}

type MemoryParts = Pick<Snapshot, 'caps' | 'workers' | 'upstreams'> & {
  readonly routes: readonly model.RouteOfFile[];
  /** Maximum known tokens of all providers together. */
  readonly maxTokens: number;
};

/** The names of the upstreams of a route. */
function servedBy({ upstream, shares }: model.ForwardRoute): string[] {
  return shares === null ? [upstream.name] : shares.map(share => share.route.upstream.name);
}

function need({ key, bytes }: model.CapCost, count: number, workers: number): MemoryNeed {
  return { key, bytes: count * bytes(workers) };
}

type Place = Pick<Diagnostic, 'file' | 'line' | 'column'>;

/** Where the numbers that let clients take memory are written, by key. Excludes defaults. */
export function writtenCaps(file: ConfigFile): ReadonlyMap<string, Place> {
  const { upstreams } = asMap(file.value);
  const paths = [
    ['workers'],
    ...['buffered', 'connections', 'requests', 'limit_keys'].map(key => ['caps', key]),
    ['access_tokens', 'cache', 'tokens'],
    ...Object.keys(asMap(upstreams)).map(name => ['upstreams', name, 'max_websockets']),
  ];
  const written = paths.filter(path => file.has(path));
  return new Map(written.map(path => [path.join('.'), { file: file.name, ...file.place(path) }]));
}

/**
 * Reports if clients may take more memory than there is: as a warning about the largest written number, or a hint if all are
 * defaults, which have a lower bound.
 */
export function memoryFinding(
  { memory, files: [file = ''] }: Pick<Snapshot, 'memory' | 'files'>,
  written: ReadonlyMap<string, Place>,
): Diagnostic | null {
  if (!model.exceedsMemory(memory)) return null;
  const key = memory.needs.find(need => written.has(need.key))?.key;
  const place = (key === undefined ? undefined : written.get(key)) ?? { file, line: null, column: null };
  return {
    ...place,
    message: `memory with all caps full: ${model.memoryInWords(memory)}; docs/memory.md says what each cap lets clients take`,
    severity: key === undefined ? 'hint' : 'warning',
  };
}
