import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { GatewayStatus } from '../../src/edge/admin/status.ts';
import { runWeir } from '../support/run-weir.ts';
import { dear } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { bundledScript } from '../support/weir-bundle.ts';

/** `weir serve` as a process of its own. */
class Serving {
  readonly file: string;
  readonly process: ChildProcess;
  /** Exit code, or the signal that killed it, once all it wrote has come. */
  readonly ended: Promise<number | string>;
  out = '';
  err = '';

  constructor(script: string, file: string) {
    this.file = file;
    this.process = spawn(process.execPath, [script, 'serve', '--config', file]);
    this.ended = once(this.process, 'close').then(([code, signal]) => code ?? signal);
    this.process.stdout?.on('data', text => {
      this.out += text;
    });
    this.process.stderr?.on('data', text => {
      this.err += text;
    });
    onTestFinished(async () => {
      this.process.kill('SIGKILL');
      await this.ended;
    });
  }

  /** The lines of its log. */
  get log(): Record<string, unknown>[] {
    return this.out
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line));
  }

  async logged(message: string): Promise<Record<string, unknown>> {
    const find = () => this.log.find(line => line['msg'] === message);
    await waitFor(`the log says "${message}"; it says ${this.out}${this.err}`, () => find() !== undefined);
    return find() ?? {};
  }

  async url(): Promise<string> {
    return `http://${(await this.logged('listening'))['http']}`;
  }
}

async function configOf(config: Readonly<Record<string, unknown>>): Promise<string> {
  const file = join(await tempFolder(), 'gateway.yaml');
  const usual = {
    listen: { http: '127.0.0.1:0', admin: 'off' },
    ...{ upstreams: {}, routes: [] },
    // The tables of the default, of a million keys, take a third of the time of a start.
    caps: { limit_keys: 10_000 },
  };
  await writeFile(file, stringify({ ...usual, ...config }));
  return file;
}

async function serve(config: Readonly<Record<string, unknown>>): Promise<Serving> {
  return new Serving(await bundledScript(), await configOf(config));
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Keys that lead every request to a port of this machine. */
function leadingTo(port: number): Record<string, unknown> {
  return {
    upstreams: { api: { url: `http://127.0.0.1:${port}` } },
    routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
  };
}

/** A gateway with one request in flight, to an upstream that never answers. */
async function busy(drain: string) {
  const upstream = createHttpServer();
  const arrived = once(upstream, 'request');
  const serving = await serve({ ...leadingTo(await listen(upstream)), shutdown: { drain } });
  const request = fetch(await serving.url()).then(
    response => response.text(),
    () => 'broken off',
  );
  await arrived;
  onTestFinished(() => upstream.closeAllConnections());
  return { serving, request };
}

describe('weir serve', () => {
  it('says in one line where it listens and which Node.js runs it, serves there, and ends with 0 after SIGTERM', async () => {
    const upstream = createHttpServer((_, response) => response.end('hello'));
    const serving = await serve({
      ...leadingTo(await listen(upstream)),
      listen: { http: '127.0.0.1:0', admin: '[::1]:0' },
      // Longer than a test may last.
      shutdown: { delay: '0s', drain: '10m' },
      log: { access: false },
    });
    expect(await serving.logged('listening')).toMatchObject({
      level: 'info',
      node: process.versions.node,
      http: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/),
      admin: expect.stringMatching(/^\[::1\]:[1-9]\d*$/),
      config: serving.file,
      hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(await (await fetch(await serving.url())).text()).toBe('hello');
    upstream.closeAllConnections();
    serving.process.kill('SIGTERM');
    expect(await serving.ended).toBe(0);
    expect(serving.log.map(line => line['msg']).slice(-3)).toEqual(['listening', 'draining', 'stopped']);
    expect(serving.err).toBe('');
  });

  it('says in that line that sign-in is off where tokens are only checked, and how many workers "auto" became and why', async () => {
    const serving = await serve({
      listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' },
      workers: 'auto',
      upstreams: { api: { url: 'http://127.0.0.1:9' }, old: { url: 'http://old' } },
      routes: [{ path: '/**', upstream: 'api' }],
      identity_provider: { issuer: 'http://127.0.0.1:9' },
      access_tokens: { audience: 'api' },
    });
    const { workers: told, admin, signIn } = await serving.logged('listening');
    expect(signIn).toBe('sign-in is off: no redirect_uri');
    expect(told).toMatch(/^\d+ \(auto, .+\)$/);
    const status = await fetch(`http://${admin}/status.json`);
    const { workers } = (await status.json()) as GatewayStatus;
    expect(`${workers.count} (auto, ${workers.why})`).toBe(told);
    // The warnings of its configuration are in the log, too.
    expect(await serving.logged('the configuration has a warning')).toMatchObject({
      level: 'warn',
      warning: expect.stringMatching(
        /gateway\.yaml:\d+:\d+: warning: upstreams: no route uses the upstream "old"$/,
      ),
    });
  });

  it.each(['http', 'admin'])('ends with 1 when the port for %s is in use, and names it', async listener => {
    const port = await listen(createServer());
    const usual = { http: '127.0.0.1:0', admin: '127.0.0.1:0' };
    const file = await configOf({ listen: { ...usual, [listener]: `127.0.0.1:${port}` } });
    const { code, err } = await runWeir(['serve', file]);
    expect(code).toBe(1);
    expect(err).toBe(
      `weir serve: cannot listen on 127.0.0.1:${port}: another process already listens there. Stop it, or give this gateway addresses of its own under "listen" (several on one machine: docs/more-cores.md)\n`,
    );
  });

  it.each([
    ['192.0.2.1:8080', 'this machine has no such address'],
    ['nowhere.invalid:8080', 'the name has no address'],
  ])('ends with 1 when it cannot listen on %s', async (http, why) => {
    const { code, err } = await runWeir(['serve', await configOf({ listen: { http, admin: 'off' } })]);
    expect(code).toBe(1);
    expect(err).toContain(why);
    expect(err).toMatch(/^weir serve: cannot listen on .*\n$/);
  });

  dear('ends with 75 when time runs out before a request is finished', async () => {
    const { serving, request } = await busy('200ms');
    serving.process.kill('SIGTERM');
    expect(await serving.ended).toBe(75);
    expect(await request).toBe('broken off');
    expect(serving.log.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'stopped before all requests were finished',
    });
  });

  // story/shutdown sends SIGTERM twice.
  it('drains after SIGINT, and ends at once with a second one', async () => {
    const { serving } = await busy('20s');
    serving.process.kill('SIGINT');
    await serving.logged('draining');
    serving.process.kill('SIGINT');
    expect(await serving.ended).toBe(130);
  });
});
