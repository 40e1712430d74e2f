import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { FSWatcher } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { type RandomBytes, type System, thisMachine, type WritableFiles } from '../../src/core/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { startAlone } from '../../src/process/app/index.ts';
import { writeGatewayConfig } from '../support/gateway.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Files that are only in memory. */
function filesOf(texts: Map<string, string>, watchers: EventEmitter[]): WritableFiles {
  const missing = (path: string) => Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
  const stat = async (path: string) => {
    const isFile = texts.has(path);
    if (!isFile && ![...texts.keys()].some(each => each.startsWith(`${path}/`))) throw missing(path);
    const kinds = { isFile: () => isFile, isDirectory: () => !isFile, isSymbolicLink: () => false };
    return { dev: 1, ino: 1, birthtimeMs: 0, ...kinds };
  };
  return {
    ...{ stat, lstat: stat, readlink: path => Promise.reject(missing(path)) },
    create: path => Promise.reject(missing(path)),
    rename: path => Promise.reject(missing(path)),
    syncFolder: path => Promise.reject(missing(path)),
    remove: async path => void texts.delete(path),
    readdir: path => Promise.reject(missing(path)),
    async open(path) {
      const found = await stat(path);
      let rest = Buffer.from(texts.get(path) ?? '');
      const read = async (into: Buffer, offset: number, length: number) => {
        const bytesRead = rest.copy(into, offset, 0, length);
        rest = rest.subarray(bytesRead);
        return { bytesRead };
      };
      return { stat: async () => found, read, close: async () => {} };
    },
    watch() {
      const watcher = Object.assign(new EventEmitter(), { close: () => {} });
      watchers.push(watcher);
      return watcher as unknown as FSWatcher;
    },
  };
}

/** Knows every name that ends in `.test`, as this machine. */
const lookup: LookupFunction = (name, options, found) => {
  if (!name.endsWith('.test')) found(Object.assign(new Error(name), { code: 'ENOTFOUND' }), '');
  else if (options.all === true) found(null, [{ address: '127.0.0.1', family: 4 }]);
  else found(null, '127.0.0.1', 4);
};

test('a gateway lives in the world that it is handed: its files, its names and its timers', async () => {
  const server = createServer((request, response) => response.end(request.url));
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const gateway = (prefix: string) => `
listen: { http: "127.0.0.1:0", admin: off }
upstreams: { api: { url: "http://api.test:${port}" } }
routes: [{ path: "${prefix}/**", upstream: api, authentication: none }]
log: { level: silent, access: false }
shutdown: { delay: 0s, drain: 5s }
caps: { limit_keys: 10000, event_loop_delay: off }
`;
  const path = '/world/gateway.yaml';
  const texts = new Map([[path, gateway('/old')]]);
  const watchers: EventEmitter[] = [];
  const timers = new Set<object>();
  const noted = (timer: object) => timers.add(timer) && timer;
  const time = new FrozenClock(Date.now());
  const system: System = {
    ...thisMachine,
    clock: {
      epochMs: () => time.epochMs(),
      monotonicMs: () => time.monotonicMs(),
      signalAfter: time.signalAfter,
      after: (ms, run) => noted(time.after(ms, run)),
      every: (ms, run) => noted(time.every(ms, run)),
      cancel: timer => {
        if (timer !== null && !timers.has(timer)) throw new Error('a timer of another clock');
        time.cancel(timer);
      },
    },
    network: { ...thisMachine.network, lookup },
    files: filesOf(texts, watchers),
  };
  const loaded = await loadConfig(path, { env: {}, generation: 1, ...system });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const log = makeLogger('silent', { write: () => {} });
  const source = { path, env: {}, loaded, settleMs: 1 };
  const app = await startAlone(loaded.snapshot, { system, log, source });
  onTestFinished(async () => void (await inTime(time, app.drain())));
  const url = `http://127.0.0.1:${app.addresses.http.port}`;
  expect(await (await fetch(`${url}/old/one`)).text()).toBe('/old/one');

  texts.set(path, gateway('/new'));
  for (const watcher of watchers) watcher.emit('change', 'rename', 'gateway.yaml');
  await time.advanceUntil('the new file serves', async () => (await fetch(`${url}/new/one`)).ok);
  expect(timers.size).toBeGreaterThan(5);
});

/** Draws the same bytes in every world. */
function sameBytes(): RandomBytes {
  let drawn = 0;
  return count => {
    const seed = String(drawn++);
    const digests = Array.from({ length: Math.ceil(count / 32) }, (_, i) =>
      hash('sha256', `${seed} ${i}`, 'buffer'),
    );
    return Buffer.concat(digests).subarray(0, count);
  };
}

/** What is random of one request, in a new gateway: its id, its trace, and and how its log line names the process and its key. */
async function namesIn(system: System): Promise<Record<string, unknown>> {
  const server = createServer((request, response) => response.end(request.headers.traceparent));
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const config = { log: { access: true }, tracing: {} };
  const loaded = await loadConfig(await writeGatewayConfig({ upstreamPort: port, config }), {
    env: {},
    generation: 1,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const lines: Record<string, unknown>[] = [];
  const log = makeLogger('info', { write: line => void lines.push(JSON.parse(line)) });
  const clock = new FrozenClock(Date.now());
  const app = await startAlone(loaded.snapshot, { system: { ...system, clock }, log });
  onTestFinished(async () => void (await inTime(clock, app.drain())));
  const response = await fetch(`http://127.0.0.1:${app.addresses.http.port}/one`);
  const traceparent = await response.text();
  const isAccess = ({ type }: Record<string, unknown>) => type === 'access';
  await waitFor('its log line', () => lines.some(isAccess));
  const { requestId, instance, keyId } = lines.find(isAccess) ?? {};
  return { requestId, instance, keyId, traceparent };
}

test('all that is random comes from the world that a gateway is handed, so that another one can repeat it', async () => {
  const first = await namesIn({ ...thisMachine, randomBytes: sameBytes() });
  expect(await namesIn({ ...thisMachine, randomBytes: sameBytes() })).toEqual(first);
  const other = await namesIn(thisMachine);
  for (const [name, value] of Object.entries(first)) {
    expect(value).toEqual(expect.stringMatching(/./));
    expect(other[name]).not.toBe(value);
  }
});
