import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, type Part, startPart } from './part.ts';

const HERE = import.meta.dirname;

export async function startUpstream(): Promise<Part> {
  const port = await freePort();
  return startPart([join(HERE, 'peers/upstream.ts')], port, { PORT: `${port}` });
}

export async function startHttpProxy3(upstreamPort: number): Promise<Part> {
  const port = await freePort();
  const environment = { PORT: `${port}`, UPSTREAM_PORT: `${upstreamPort}` };
  return startPart([join(HERE, 'peers/http-proxy-3.ts')], port, environment);
}

/** The gateway as an operator starts it, with its access log off. `directory` takes its configuration. */
export async function startWeir(upstreamPort: number, directory: string): Promise<Part> {
  const port = await freePort();
  const config = {
    listen: { http: `127.0.0.1:${port}`, admin: '127.0.0.1:0' },
    upstreams: { api: { url: `http://127.0.0.1:${upstreamPort}` } },
    routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
    log: { access: false },
  };
  const file = join(directory, 'gateway.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config));
  return startPart([join(HERE, '../src/main.ts'), 'serve', '--config', file], port);
}
