import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { installBalancers, startNginx } from '../support/balancers.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { tempFolder } from '../support/temp.ts';
import { run } from './application.ts';
import { APPLICATIONS } from './applications/index.ts';

const FETCHED = join(import.meta.dirname, '../../node_modules/.cache/services');

beforeAll(installBalancers);

test.each(APPLICATIONS)('$name is the same direct and through Weir', async application => {
  const folder = await tempFolder();
  application.fetch?.();
  await fetchPackages(application.packages ?? [], folder);
  const port = await application.start(folder);
  const use = (at: number, name: string) => application.use(`http://127.0.0.1:${at}`, folder, name);
  const direct = await use(port, 'direct');
  expect(direct).not.toBe('');
  const { upstream: api = {}, route = {}, config = {}, h2c = false } = application;
  // A process of its own, in which time passes.
  const gateway = await startGatewayProcess({ upstreamPort: port, api, route, config }, { h2c });
  expect(await use(gateway.port, 'through')).toBe(direct);
  const isGrpc = api['protocol'] === 'grpc';
  const nginx = await startNginx(own => nginxSection(own, port, isGrpc));
  const beside = await use(nginx, 'nginx').catch(error => `failed: ${error}`);
  if (application.nginx === undefined) expect(beside).toBe(direct);
  else expect(beside, 'the row says that nginx differs').not.toBe(direct);
});

/** Has npm install these packages, once, and puts them into the folder. */
async function fetchPackages(packages: readonly string[], folder: string): Promise<void> {
  if (packages.length === 0) return;
  const kept = join(FETCHED, createHash('sha256').update(packages.join()).digest('hex').slice(0, 16));
  if (!existsSync(kept)) {
    // Under another name up to its end: a run that is stopped leaves nothing half done.
    const part = `${kept}.${process.pid}`;
    await rm(part, { recursive: true, force: true });
    await mkdir(part, { recursive: true });
    await run(part, 'npm', 'init', '--yes');
    await run(part, 'npm', 'install', '--no-audit', '--no-fund', ...packages);
    await rename(part, kept);
  }
  await symlink(join(kept, 'node_modules'), join(folder, 'node_modules'));
}

/** A reverse proxy as the guides for nginx have it: the fields of proxies, and WebSockets. All limits are nginx's own. */
function nginxSection(port: number, to: number, isGrpc: boolean): string {
  const fields = `
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;`;
  return `http {
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  server {
    listen 127.0.0.1:${port}${isGrpc ? ' http2' : ''};
    location / {
      ${isGrpc ? `grpc_pass grpc://127.0.0.1:${to};` : `proxy_pass http://127.0.0.1:${to};${fields}`}
    }
  }
}`;
}
