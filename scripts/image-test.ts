// `npm run test:image`: builds the Dockerfile with Debian's buildah, runs the image as its user with a read-only root, sends a
// request through it, stops it, and prints what it takes: the median of several starts. With `--write` it writes that to
// docs/container.md; without, it fails where the sizes there are of an older state. Needs root on Debian or its like.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { ensureInstalled } from '../test/support/installed.ts';
import { BASE, BUILD_BASE, makeBaseImages, npmCache } from './image/base-images.ts';
import { Buildah, type ImageConfig } from './image/buildah.ts';
import { Container, canIsolate, runHealthcheck } from './image/container.ts';
import { type Figures, outdatedSizes, rowsOf, writeFigures } from './image/figures.ts';

const ROOT = resolve(import.meta.dirname, '..');
const IMAGE = 'localhost/weir';
const MAX_START_MS = 20_000;
/** V8 gives memory back some seconds after a collection. */
const REST_MS = 20_000;
const STARTS = 5;
/** A fifth more than it takes: memory hardly depends on how busy the machine is. */
const MOST_AT_REST = 105e6;

if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
  console.error('test:image needs root on Debian or its like: it makes its base image of Debian packages.');
  process.exit(1);
}
ensureInstalled({ command: 'buildah', versionArgs: ['--version'], packages: ['buildah'] });

const folder = mkdtempSync(join(tmpdir(), 'weir-image-'));
try {
  await testImage(new Buildah(join(folder, 'store')));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function testImage(buildah: Buildah): Promise<void> {
  say('base images of Debian packages and this Node.js');
  makeBaseImages(buildah, folder);
  say('building the Dockerfile');
  build(buildah);
  const config = buildah.configOf(IMAGE);
  const root = buildah.unpack(IMAGE);
  check('its user is a number and not root', /^[1-9]\d*:[1-9]\d*$/.test(config.User));
  check('its labels name the version', config.Labels['org.opencontainers.image.version'] === version());
  checkContents(root);
  const sizes = { applicationBytes: sizeOf(join(root, 'opt')), imageBytes: sizeOf(root) };
  if (!canIsolate()) {
    console.log('NOT SHOWN: that it runs. This machine does not let root unshare namespaces.');
    return;
  }
  await runImage(root, config);
  say(`${STARTS} starts, each with ${REST_MS / 1_000} s at rest`);
  report({ ...sizes, ...(await measure(root, config)) });
}

function report(figures: Figures): void {
  console.log(rowsOf(figures).join('\n'));
  check(`it takes at most ${MOST_AT_REST / 1e6} MB at rest`, figures.restBytes <= MOST_AT_REST);
  if (process.argv.includes('--write')) writeFigures(figures);
  else check('docs/container.md has these sizes (--write writes them)', outdatedSizes(figures).length === 0);
}

function build(buildah: Buildah): void {
  const npmrc = join(homedir(), '.npmrc');
  const secret = existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : [];
  const args = { BUILD_IMAGE: BUILD_BASE, BASE_IMAGE: BASE, VERSION: version() };
  const buildArgs = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const volume = ['--volume', `${npmCache()}:/root/.npm`];
  const how = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', '--quiet'];
  buildah.build(...how, ...secret, ...buildArgs, ...volume, '-t', IMAGE, ROOT);
}

function checkContents(root: string): void {
  const { uid, gid } = statSync(join(root, 'var/lib/weir'));
  check('its user may write the folder of state', [uid, gid].join(':') === '65532:65532');
  const packages = readdirSync(join(root, 'opt/weir/node_modules'));
  check(
    'it holds no package beside the bundle',
    packages.every(name => name === '.cache'),
  );
  check('it holds the bill of materials', existsSync(join(root, 'opt/weir/dist/sbom.cdx.json')));
  const bill = JSON.parse(readFileSync(join(root, 'opt/weir/sbom.cdx.json'), 'utf8'));
  const node = bill.components.find(({ name }: { readonly name: string }) => name === 'node');
  check('that of the image names its Node.js', node?.version === process.versions.node);
  const shells = ['bin/sh', 'usr/bin/env', 'usr/bin/npm', 'bin/busybox'].filter(name =>
    existsSync(join(root, name)),
  );
  check('it holds no shell and no npm', shells.length === 0);
}

async function runImage(root: string, image: ImageConfig): Promise<void> {
  const upstream = createServer((_, response) => response.end('through the image')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const ports = { http: await freePort(), admin: await freePort() };
  const etc = writeConfig(upstream, ports);
  const container = new Container(root, image, etc);
  try {
    await ready(ports.admin, container);
    check('node is process 1', container.program === 'node' && container.status('NSpid').endsWith('\t1'));
    check('it runs as its user', container.status('Uid').startsWith(image.User.split(':')[0] ?? '-'));
    check('its root is read-only', container.rootIsReadOnly);
    const response = await fetch(`http://127.0.0.1:${ports.http}/`);
    check('a request gets through', (await response.text()) === 'through the image');
    const health = await fetch(`http://127.0.0.1:${ports.admin}/healthz`);
    check('/healthz is 200', health.status === 200);
    check('its health check passes without a shell', runHealthcheck(root, image, etc).status === 0);
    const traced = { ...image, Env: [...image.Env, 'NODE_DEBUG_NATIVE=COMPILE_CACHE'] };
    const { stderr } = runHealthcheck(root, traced, etc);
    check('Node.js finds its compiled code', / was accepted/.test(stderr) && !/ was rejected/.test(stderr));
    container.terminate();
    const [code] = await container.ended;
    check('SIGTERM ends it with exit code 0', code === 0);
    check('its health check fails when it is gone', runHealthcheck(root, image, etc).status === 1);
  } finally {
    container.kill();
    upstream.close().closeAllConnections();
  }
}

async function measure(root: string, image: ImageConfig): Promise<Pick<Figures, 'startMs' | 'restBytes'>> {
  const upstream = createServer().listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const starts = [];
  for (let n = 0; n < STARTS; n++) {
    const ports = { http: await freePort(), admin: await freePort() };
    const container = new Container(root, image, writeConfig(upstream, ports));
    try {
      await ready(ports.admin, container);
      const startMs = container.cpuMs;
      await pause(REST_MS);
      starts.push({ startMs, restBytes: Number.parseInt(container.status('VmRSS'), 10) * 1_024 });
    } finally {
      container.kill();
      await container.ended;
    }
  }
  upstream.close();
  return {
    startMs: median(starts.map(each => each.startMs)),
    restBytes: median(starts.map(each => each.restBytes)),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function writeConfig(upstream: Server, ports: { readonly http: number; readonly admin: number }): string {
  const etc = mkdtempSync(join(folder, 'etc-'));
  const { port } = upstream.address() as AddressInfo;
  const config = {
    listen: { http: `127.0.0.1:${ports.http}`, admin: `127.0.0.1:${ports.admin}` },
    upstreams: { api: { url: `http://127.0.0.1:${port}` } },
    routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
    shutdown: { delay: '0s', drain: '5s' },
  };
  writeFileSync(join(etc, 'gateway.yaml'), JSON.stringify(config));
  // mkdtemp makes it root's alone.
  chmodSync(etc, 0o755);
  return etc;
}

async function ready(port: number, container: Container): Promise<void> {
  const givesUpAt = performance.now() + MAX_START_MS;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (response?.ok) return;
    if (performance.now() > givesUpAt || container.process.exitCode !== null)
      throw new Error(`it did not get ready:\n${container.output}`);
    await pause(5);
  }
}

function check(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not so: ${what}`);
  console.log(`  ok  ${what}`);
}

function say(what: string): void {
  console.log(`${(performance.now() / 1_000).toFixed(1).padStart(5)} s  ${what}`);
}

function version(): string {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
}

/** Bytes of the files in a folder. */
function sizeOf(path: string): number {
  return Number(execFileSync('du', ['-sb', path], { encoding: 'utf8' }).split('\t')[0]);
}
