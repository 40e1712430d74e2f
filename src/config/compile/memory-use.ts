import type { ConfigFile, Diagnostic } from '../file/index.ts';
import { asMap } from '../file/index.ts';
import type * as model from '../model/index.ts';
import * as settings from '../settings/index.ts';
import type { Snapshot } from '../snapshot.ts';

const { connections, requests, webSockets, limitKeys, tokens } = settings.CAP_COSTS;

type Settings = Pick<settings.SettingModels, 'caps' | 'workers' | 'upstreams' | 'keptRoutes' | 'identity'>;

/**
 * Adds up what clients may take under the caps of a configuration, and compares it with what the process may use.
 *
 * @param maxTokens of one table of tokens
 */
export function memoryOf(
  { caps, workers, upstreams, keptRoutes, identity }: Settings,
  maxTokens: number,
  usableBytes: number,
): settings.MemoryModel {
  const { count } = workers;
  const needs = [
    { key: 'workers', bytes: settings.processBytes(count) },
    { key: 'caps.buffered', bytes: caps.bufferedBytes },
    need(connections, caps.connections, count),
    need(requests, caps.requests, count),
    need(limitKeys, caps.limitKeys, count),
    need(tokens, maxTokens * tokenTablesIn(identity), count),
    ...servingWebSockets({ upstreams, keptRoutes }).map(({ name, pools }) => ({
      ...need(webSockets, pools.websockets.max, count),
      key: webSockets.key.replace('NAME', name),
    })),
  ].toSorted((a, b) => b.bytes - a.bytes);
  const totalBytes = needs.reduce((sum, { bytes }) => sum + bytes, 0);
  return { usableBytes, totalBytes, needs };
}

/** One for each provider, and one more for opaque tokens. */
function tokenTablesIn(identity: model.IdentityModel | null): number {
  const providers = identity?.providers ?? [];
  return providers.length + providers.filter(({ opaqueTokens }) => opaqueTokens !== null).length;
}

function servingWebSockets({ upstreams, keptRoutes }: Pick<Settings, 'upstreams' | 'keptRoutes'>) {
  const serving = new Set(
    keptRoutes.entries.flatMap(({ value: route }) =>
      route.kind === 'forward' && route.websocket !== null ? servedBy(route) : [],
    ),
  );
  return upstreams.filter(({ name }) => serving.has(name));
}

/** Fits the caps of a configuration into the file descriptors that the process may have. */
export function descriptorsOf(written: Settings, limit: number): settings.DescriptorsModel {
  const webSockets = servingWebSockets(written).reduce((sum, { pools }) => sum + pools.websockets.max, 0);
  return settings.fitDescriptors({ ...written.caps, webSockets }, written.workers.count, limit);
}

function servedBy({ upstream, shares }: model.ForwardRoute): string[] {
  return shares === null ? [upstream.name] : shares.map(share => share.route.upstream.name);
}

function need({ key, bytes }: settings.CapCost, count: number, workers: number): settings.MemoryNeed {
  return { key, bytes: count * bytes(workers) };
}

/** Fewer connections than a small gateway serves: worth a warning although nobody wrote a number. */
const FEW_CONNECTIONS = 1_000;

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
 * Reports if clients may take more memory or descriptors than there are: as a warning about the largest written number. If all are
 * defaults, memory is a hint, since they have a lower bound, and descriptors nothing but a few: the caps are fitted into them.
 */
export function capFindings(
  { memory, descriptors, files: [file = ''] }: Pick<Snapshot, 'memory' | 'descriptors' | 'files'>,
  written: ReadonlyMap<string, Place>,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const add = (keys: readonly string[], message: string, byDefault: Diagnostic['severity'] | null) => {
    const place = keys.map(key => written.get(key)).find(each => each !== undefined);
    const severity = place === undefined ? byDefault : 'warning';
    if (severity !== null) found.push({ file, line: null, column: null, ...place, message, severity });
  };
  if (settings.exceedsMemory(memory))
    add(
      memory.needs.map(({ key }) => key),
      `memory with all caps full: ${settings.memoryInWords(memory)}; docs/memory.md says what each cap lets clients take`,
      'hint',
    );
  if (settings.exceedsDescriptors(descriptors))
    add(
      [connections.key, requests.key],
      `file descriptors with all caps full: ${settings.descriptorsInWords(descriptors)}; raise the limit of the process ("ulimit -n", LimitNOFILE) or lower the caps`,
      descriptors.connections < FEW_CONNECTIONS ? 'warning' : null,
    );
  return found;
}
