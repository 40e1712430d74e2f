import { closeSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type GatewayProcess, type Launch, startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

/** Space for the log of a test, bytes. */
const SPACE = 64 * 1024;
/** More lines than that space, a pipe or a socket takes. */
const MANY = 1_500;

async function start(launch: Launch = {}): Promise<GatewayProcess> {
  const upstream = await startUpstream();
  return startGatewayProcess(
    { upstreamPort: upstream.port, config: { log: { fields: ['user_agent'] } } },
    launch,
  );
}

/** Opens a file for a process that is started, until the test ends. */
function opened(path: string): number {
  const file = openSync(path, 'a');
  onTestFinished(() => closeSync(file));
  return file;
}

/** Sends many requests, and expects a response to each. */
async function load(gateway: GatewayProcess, requests = MANY): Promise<void> {
  const client = await gateway.connect();
  const request = head('GET /a', `User-Agent: ${'a'.repeat(256)}`);
  const statuses = new Set<number>();
  for (let i = 0; i < requests; i++) statuses.add((await client.ask(request)).status);
  expect([...statuses]).toEqual([200]);
}

/** Expects that the gateway stops during load, in the time that it is given. */
async function stopUnderLoad(gateway: GatewayProcess): Promise<void> {
  const client = await gateway.connect();
  const answered = client.ask(head('GET /a'));
  await answered;
  gateway.signal('SIGTERM');
  expect(await gateway.exit).toBe(0);
}

async function trouble(gateway: GatewayProcess): Promise<string | undefined> {
  const { log } = JSON.parse((await gateway.admin('/status.json')).text);
  return log.trouble?.cause;
}

describe('a gateway keeps serving, and stops when asked to', () => {
  test('when the reader of its log has died', async () => {
    const gateway = await start();
    gateway.process.stdout?.destroy();
    await load(gateway);
    await waitFor('the cause is shown', async () => (await trouble(gateway))?.startsWith('EPIPE') ?? false);
    await stopUnderLoad(gateway);
  });

  test('when the reader of its log stalls', async () => {
    const gateway = await start();
    gateway.process.stdout?.pause();
    await load(gateway);
    await waitFor('the cause is shown', async () => (await trouble(gateway))?.startsWith('EAGAIN') ?? false);
    await stopUnderLoad(gateway);
  });

  test('when its log goes to a full device', async () => {
    const gateway = await start({ stdout: opened('/dev/full') });
    await load(gateway);
    await waitFor('the cause is shown', async () => (await trouble(gateway))?.startsWith('ENOSPC') ?? false);
    expect((await gateway.admin('/healthz')).status).toBe(200);
    expect(await gateway.metric('weir_log_blocked')).toEqual(new Map([['', 1]]));
    await stopUnderLoad(gateway);
  });

  test('when its log fills the space that there is, and writes what waited once there is room', async () => {
    const path = join(await tempFolder(), 'weir.log');
    const gateway = await start({ stdout: opened(path), before: `ulimit -f ${SPACE / 1_024}` });
    await load(gateway);
    await waitFor('the cause is shown', async () => (await trouble(gateway)) === 'EFBIG');
    const written: string[] = [];
    await waitFor('everything is written', () => {
      // Only a full file: nothing is written between the two.
      if (statSync(path).size === SPACE) {
        written.push(readFileSync(path, 'utf8'));
        truncateSync(path);
      }
      return readFileSync(path, 'utf8').includes(`"sequence":${MANY},`);
    });
    await stopUnderLoad(gateway);
    written.push(readFileSync(path, 'utf8'));
    const lines = written
      .join('')
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line));
    const sequences = lines.filter(({ type }) => type === 'access').map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: MANY + 1 }, (_, i) => i + 1));
    expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
  });
});
