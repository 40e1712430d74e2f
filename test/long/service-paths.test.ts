import { beforeAll, describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { FOLDER, installLighttpd, startLighttpd } from '../support/lighttpd.ts';
import { head } from '../support/requests.ts';
import { values } from '../support/wire/index.ts';

describe('a server that redirects to the path of a folder with a slash', () => {
  beforeAll(installLighttpd);

  test('leads back through the gateway', async () => {
    const port = await startLighttpd();
    const [parent = '', name = ''] = FOLDER.slice(1).split('/');
    const url = `http://127.0.0.1:${port}/${parent}`;
    const gateway = await startGateway({
      upstreamPort: port,
      api: { url, host: 'upstream' },
      route: { path: '/files/**', strip_prefix: '/files', rewrite_location: true },
    });
    const response = await gateway.ask(head(`GET /files/${name}?a=b`));
    expect(response.status).toBe(301);
    const [location = ''] = values(response.fields, 'location');
    expect(new URL(location, 'http://gateway.test').href).toBe(`http://gateway.test/files/${name}/?a=b`);
  });
});
