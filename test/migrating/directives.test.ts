import { describe, expect, it } from 'vitest';
import { startNginx } from '../support/balancers.ts';
import { rowsOf, startFile } from '../support/migrating.ts';
import { head } from '../support/requests.ts';
import { connectRaw, type Response, startUpstream, values } from '../support/wire/index.ts';

async function ask(port: number, target: string, ...lines: string[]): Promise<Response> {
  const client = await connectRaw(port);
  const answer = await client.ask(head(`GET ${target}`, ...lines).replace('gateway.test', 'www.example.com'));
  client.destroy();
  return answer;
}

describe('the spelling of a path, line by line', () => {
  const rows = rowsOf('Client sends');

  it('has a line for each that differs', () => {
    for (const spelling of ['//', '%2F', ';', 'APP', '/app', '..', '%61'])
      expect(
        rows.some(([path = '']) => path.includes(spelling)),
        spelling,
      ).toBe(true);
  });

  it('is as the page says in nginx, in Weir, and in Weir with the key', async () => {
    const service = await startUpstream();
    const nginx = await startNginx(
      port => `http {
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1;
    location /app/ { proxy_pass http://127.0.0.1:${service.port}; }
    location /cut/ { proxy_pass http://127.0.0.1:${service.port}/; }
  }
}`,
    );
    const weir = (keys: string, cut: string, slash: string) =>
      startFile(`listen: { http: "127.0.0.1:0", admin: off }
upstreams: { app: { url: "http://127.0.0.1:${service.port}" } }
routes:
  - { path: /app/**, upstream: app, authentication: none${keys} }
  - { path: /cut/**, upstream: app, authentication: none, strip_prefix: /cut${cut} }
${slash}`);
    const plain = await weir('', '', '');
    const odd = ', encoded_slashes: pass, semicolons: pass';
    const keyed = await weir(
      `${odd}, empty_segments: pass`,
      `${odd}, empty_segments: merge`,
      '  - { path: /app/, upstream: app, authentication: none, trailing_slash: redirect }\n',
    );
    const outcome = async (port: number, path: string): Promise<string> => {
      const before = service.requests.length;
      const { status, fields } = await ask(port, path);
      const [location] = values(fields, 'location');
      if (location !== undefined) return `${status} to ${location.replace(/^http:\/\/[^/]*/, '')}`;
      return service.requests[before]?.target ?? String(status);
    };
    for (const [path = '', ofNginx, ofWeir, withKey] of rows) {
      expect(await outcome(nginx, path), `nginx: ${path}`).toBe(ofNginx);
      expect(await outcome(plain.port, path), `Weir: ${path}`).toBe(ofWeir);
      const [key, result] =
        (withKey ?? '').split(': ').length > 2 ? (withKey ?? '').split(/: (?=[^:]*$)/) : [];
      if (key !== undefined) expect(await outcome(keyed.port, path), `Weir, ${key}: ${path}`).toBe(result);
    }
  });
});
