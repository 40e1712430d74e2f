import type { ConfigFile, Diagnostic } from '../file/index.ts';
import { asMap } from '../file/index.ts';
import type * as model from '../model/index.ts';
import * as settings from '../settings/index.ts';

const { connections, requests, webSockets, limitKeys, tokens } = settings.CAP_COSTS;

/** Adds up what clients may take under the caps of a configuration, and compares it with what the process may use. */
export function memoryOf(
  { caps, workers, upstreams, routes, maxTokens }: MemoryParts,
  usableBytes: number,
): settings.MemoryModel {
  const { count } = workers;
  const serving = new Set(
    routes.flatMap(route => (route.kind === 'forward' && route.websocket !== null ? servedBy(route) : [])),
  );
  const needs = [
    { key: 'workers', bytes: settings.processBytes(count) },
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

type MemoryParts = Pick<model.Snapshot, 'caps' | 'workers' | 'upstreams'> & {
  readonly routes: readonly model.RouteOfFile[];
  /** Maximum known tokens of all providers together. */
  readonly maxTokens: number;
};

/** The names of the upstreams of a route. */
function servedBy({ upstream, shares }: model.ForwardRoute): string[] {
  return shares === null ? [upstream.name] : shares.map(share => share.route.upstream.name);
}

function need({ key, bytes }: settings.CapCost, count: number, workers: number): settings.MemoryNeed {
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
  { memory, files: [file = ''] }: Pick<model.Snapshot, 'memory' | 'files'>,
  written: ReadonlyMap<string, Place>,
): Diagnostic | null {
  if (!settings.exceedsMemory(memory)) return null;
  const key = memory.needs.find(need => written.has(need.key))?.key;
  const place = (key === undefined ? undefined : written.get(key)) ?? { file, line: null, column: null };
  return {
    ...place,
    message: `memory with all caps full: ${settings.memoryInWords(memory)}; docs/memory.md says what each cap lets clients take`,
    severity: key === undefined ? 'hint' : 'warning',
  };
}
