import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cpuMicroseconds } from '../../bench/measure/processes.ts';
import { startPart } from '../../bench/world/part.ts';
import { freePort } from '../support/free-port.ts';
import { tempFolder } from '../support/temp.ts';

/** Binds its address for a while, as the main thread of a gateway with workers does, and then serves: it writes how many had come before. */
const PROGRAM = `
  const { createServer } = require('node:net');
  const port = Number(process.env.PORT);
  let early = 0;
  const probe = createServer(socket => { early++; socket.destroy(); });
  probe.listen(port, '127.0.0.1', () => setTimeout(() => probe.close(() => {
    const server = createServer(socket => socket.end('early: ' + early));
    server.listen(port, '127.0.0.1', () => console.log('ready'));
  }), 300));
`;

it('waits until a program says that it listens, and does not take its address for it before', async () => {
  const port = await freePort();
  const part = await startPart(
    {
      ...{ command: process.execPath, parameters: ['-e', PROGRAM], environment: { PORT: `${port}` } },
      ...{ outputFile: join(await tempFolder(), 'log'), says: 'ready' },
    },
    port,
  );
  onTestFinished(() => part.stop());
  const socket = connect(port, '127.0.0.1');
  const [answer] = await once(socket, 'data');
  expect(`${answer}`).toBe('early: 0');
});

/** Starts a child that works for half a second and ends. */
const REPLACING = `
  const { spawnSync } = require('node:child_process');
  const work = 'while (process.cpuUsage().user < 500_000);';
  spawnSync(process.execPath, ['-e', work]);
  console.log('ready');
  setInterval(() => {}, 1_000);
`;

it('counts the processor time of processes that have ended, as workers do that a reload replaces', async () => {
  const program = { command: process.execPath, parameters: ['-e', REPLACING] };
  const part = await startPart({ ...program, outputFile: join(await tempFolder(), 'log'), says: 'ready' }, 0);
  onTestFinished(() => part.stop());
  expect(cpuMicroseconds(part.pid)).toBeGreaterThan(500_000);
});
