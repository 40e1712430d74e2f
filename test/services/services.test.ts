import { expect, test } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { tempFolder } from '../support/temp.ts';
import { run } from './application.ts';
import { git } from './applications/git.ts';
import { socketIo } from './applications/socket-io.ts';

test.each([git, socketIo])('$name is the same direct and through Weir', async application => {
  const folder = await tempFolder();
  const { packages } = application;
  if (packages.length > 0) await run(folder, 'npm', 'install', '--no-audit', '--no-fund', ...packages);
  const port = await application.start(folder);
  const direct = await application.use(`http://127.0.0.1:${port}`, folder, 'direct');
  const { upstream: api, route } = application;
  // A process of its own, in which time passes.
  const gateway = await startGatewayProcess({ upstreamPort: port, api, route });
  const through = await application.use(`http://127.0.0.1:${gateway.port}`, folder, 'through');
  expect(direct).not.toBe('');
  expect(through).toBe(direct);
});
