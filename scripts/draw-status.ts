// Draws the pictures of the status page in docs/images/, of a gateway under a little load: status-light.png, the beginning of it for the
// README (status-begin.png), and status-dark-phone.png.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { freePort, startPart } from '../bench/world/part.ts';
import { runBrowser } from '../test/support/browser-process.ts';
import { ensureInstalled } from '../test/support/installed.ts';
import { scripts, startScriptedProvider } from '../test/support/scripted-provider.ts';
import { type IssuerKey, issuerKey, signToken } from '../test/support/token-issuer.ts';

const ROOT = join(import.meta.dirname, '..');
const HELP = `Draws the pictures of the status page in docs/images/, in half a minute.

npm run draw:status

Starts a gateway, its provider and a service on free ports, and ends them. Installs the Debian package "chromium" if root may.
`;

const LIMITS = {
  global: { user: '50/1s', address: '50/1s' },
  buckets: {
    orders: { user: '20/10s', bot: '100/10s' },
    search: { user: '5/10s', shadow: { user: '3/10s' } },
    webhooks: { address: '10/1m' },
  },
  routes: { '/orders/**': 'orders', '/search': 'search', '/webhooks/{id}': 'webhooks' },
  invalid_requests: { limit: '40/1m', restrict_for: '10m' },
  ignored_refusals: { limit: '5/1m', shadow: true },
};

/** What the file says at first, so that there are reloads to show. */
const BEFORE = {
  ...LIMITS,
  buckets: { ...LIMITS.buckets, search: { user: '5/10s' }, orders: { user: '50/10s', bot: '100/10s' } },
};

const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
if (values.help) process.stdout.write(HELP);
else await draw();
process.exit();

async function draw(): Promise<void> {
  ensureInstalled({ command: 'chromium', versionArgs: ['--version'], packages: ['chromium'] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-status-'));
  const [http, admin, api, otherApi, reports] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const provider = await startScriptedProvider();
  const key = issuerKey('ES256', 'first');
  provider.keys = scripts.json(200, { keys: [key.jwk] });
  createServer((_, response) => response.end('ok')).listen(api, '127.0.0.1');
  const url = (port: number) => ({ url: `http://127.0.0.1:${port}` });
  await writeFile(join(folder, 'limits.yaml'), stringify(BEFORE));
  await writeFile(join(folder, 'client-secret'), 'a-secret-of-the-picture');
  const config = {
    listen: { http: `127.0.0.1:${http}`, admin: `127.0.0.1:${admin}` },
    identity_provider: {
      issuer: provider.issuer,
      client_id: 'app',
      client_secret_file: 'client-secret',
      redirect_uri: 'https://app.example/callback',
    },
    access_tokens: { audience: 'api', bots: { claim: 'client_id' } },
    // Nothing listens at `otherApi` and `reports`.
    upstreams: { api: { urls: [api, otherApi].map(port => url(port).url) }, reports: url(reports) },
    routes: [
      { path: '/**', upstream: 'api' },
      { path: '/webhooks/{id}', upstream: 'api', authentication: 'none' },
      { path: '/reports/**', upstream: 'reports' },
    ],
    limits: 'limits.yaml',
  };
  await writeFile(join(folder, 'gateway.yaml'), stringify(config));
  // The page names its files as the command does.
  process.chdir(folder);
  const parameters = [join(ROOT, 'src/main.ts'), 'serve', 'gateway.yaml'];
  const gateway = await startPart({ command: process.execPath, parameters, outputFile: 'weir.log' }, http);
  await sleep(2_000);
  for (const text of ['buckets: { orders: { user: 20/10 } }', stringify(LIMITS)]) {
    await writeFile(join(folder, 'limits.yaml'), text);
    await sleep(2_500);
  }
  await play(http, user => tokenOf(user, key, provider.issuer));
  await takePictures(`http://127.0.0.1:${admin}/status`, folder);
  await gateway.stop();
  await rm(folder, { recursive: true });
}

function tokenOf(user: string, key: IssuerKey, iss: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const bot = user.startsWith('bot') ? { client_id: user } : {};
  return signToken(key, {
    iss,
    aud: 'api',
    sub: user,
    azp: 'app',
    typ: 'Bearer',
    iat,
    exp: iat + 600,
    ...bot,
  });
}

/** Some callers within their limits, some beyond, one restricted, one that would be, and a service that fails. */
async function play(port: number, tokenOf: (user: string) => string): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const ask = (path: string, token: string | null, localAddress = '127.0.0.1') =>
    new Promise<void>(resolve => {
      const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
      const asked = request({ host: '127.0.0.1', port, path, headers, agent, localAddress }, response =>
        response.resume().on('end', resolve),
      );
      asked.end();
    });
  const times = async (count: number, path: string, token: string | null, from?: string) => {
    for (let n = 0; n < count; n++) await ask(path, token, from);
  };
  await times(18, '/orders/1', tokenOf('alice'));
  await times(31, '/orders/2', tokenOf('bob'));
  await times(9, '/search', tokenOf('bob'));
  await times(7, '/search', tokenOf('carol'));
  await times(60, '/orders/3', tokenOf('bot-invoices'));
  await times(3, '/reports/today', tokenOf('alice'));
  await times(14, '/webhooks/7', null, '127.0.0.8');
  await times(45, '/orders', 'not-a-token', '127.0.0.9');
  // Requests within a second of the first refusal may have been in flight: these were not.
  await sleep(1_100);
  await times(8, '/search', tokenOf('bob'));
}

async function takePictures(url: string, folder: string): Promise<void> {
  const { browser, end } = runBrowser(join(folder, 'profile'));
  const page = await browser.open(url);
  await page.look({ width: 1200, dark: false });
  await writeFile(join(ROOT, 'docs/images/status-light.png'), await page.picture(2_600));
  await writeFile(join(ROOT, 'docs/images/status-begin.png'), await page.picture(1_206));
  await page.look({ width: 390, dark: true });
  await writeFile(join(ROOT, 'docs/images/status-dark-phone.png'), await page.picture(1_400));
  await end();
}
