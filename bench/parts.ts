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

/** Where the gateway of the token measurements asks for a token, and where it looks at none. */
export const TOKEN_PATH = '/token';
export const OPEN_PATH = '/open';

/** The gateway as an operator starts it, with its access log off. `directory` takes its configuration. */
export function startWeir(upstreamPort: number, directory: string): Promise<Part> {
  const routes = [{ path: '/**', upstream: 'api', authentication: 'none' }];
  return startGateway(upstreamPort, join(directory, 'gateway.yaml'), { routes });
}

/** The same with an issuer of tokens. */
export function startWeirWithTokens(upstreamPort: number, directory: string, issuer: string): Promise<Part> {
  const endpoints = { authorization: issuer, token: issuer, key_set: issuer };
  const client = { client_id: 'gateway', client_authentication: 'none', redirect_uri: issuer };
  return startGateway(upstreamPort, join(directory, 'tokens.yaml'), {
    identity_provider: { issuer, endpoints, ...client },
    access_tokens: { audience: 'api', identity_headers: { 'X-Auth-Subject': 'sub', 'X-Auth-Client': 'azp' } },
    routes: [
      { path: TOKEN_PATH, upstream: 'api' },
      { path: OPEN_PATH, upstream: 'api', authentication: 'none' },
    ],
  });
}

async function startGateway(
  upstreamPort: number,
  file: string,
  more: Readonly<Record<string, unknown>>,
): Promise<Part> {
  const port = await freePort();
  const config = {
    listen: { http: `127.0.0.1:${port}`, admin: 'off' },
    upstreams: { api: { url: `http://127.0.0.1:${upstreamPort}` } },
    log: { access: false },
    ...more,
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config));
  return startPart([join(HERE, '../src/main.ts'), 'serve', '--config', file], port);
}
