import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startNginx } from '../support/balancers.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { tempFolder } from '../support/temp.ts';
import type { Application } from './application.ts';
import { APPLICATIONS } from './applications/index.ts';
import { addVenv } from './python.ts';

const FETCHED = join(import.meta.dirname, '../../node_modules/.cache/services');

test.each(APPLICATIONS)('$name is the same direct and through Weir', async application => {
  const folder = await tempFolder();
  application.fetch?.();
  await fetchPackages(application, folder);
  await addVenv(application.pythonPackages ?? [], FETCHED, folder);
  const port = await application.start(folder);
  // Names of one length: they may be in what is counted.
  const use = async (at: number, name: string) => {
    const host = `127.0.0.1:${at}`;
    return (await application.use(`http://${host}`, folder, name)).replaceAll(host, 'HOST');
  };
  const direct = await use(port, 'run1');
  expect(direct).not.toBe('');
  const { upstream, route = {}, grpc } = application;
  const calls = grpc?.map(each => ({ grpc: `${each}/*`, upstream: 'api', authentication: 'none' }));
  const settings =
    calls === undefined
      ? { api: { ...upstream }, route }
      : { api: { ...upstream, protocol: 'grpc' }, config: { routes: calls } };
  // A process of its own, in which time passes.
  const gateway = await startGatewayProcess(
    { upstreamPort: port, ...settings },
    { h2c: calls !== undefined },
  );
  expect(await use(gateway.port, 'run2')).toBe(direct);
  const nginx = await startNginx(own => nginxSection(own, port, calls !== undefined));
  const beside = await use(nginx, 'run3').catch(error => `failed: ${error}`);
  if (application.nginx === undefined) expect(beside).toBe(direct);
  else expect(beside).toMatch(application.nginx[1]);
});

/** Has npm install the packages of an application, once, and puts them into the folder. */
async function fetchPackages({ packages = [], overrides = {} }: Application, folder: string): Promise<void> {
  if (packages.length === 0) return;
  const manifest = JSON.stringify({ private: true, description: packages.join(' '), overrides });
  const kept = join(FETCHED, createHash('sha256').update(manifest).digest('hex').slice(0, 16));
  if (!existsSync(kept)) {
    // Under another name up to its end: a run that is stopped leaves nothing half done.
    const part = `${kept}.${process.pid}`;
    await rm(part, { recursive: true, force: true });
    await mkdir(part, { recursive: true });
    await writeFile(join(part, 'package.json'), manifest);
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: part });
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
