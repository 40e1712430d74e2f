import { expect, test } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const CLIENTS = 400;

test.skipIf(process.platform !== 'linux')(
  'a process with few file descriptors says so, serves as many clients as fit, and its admin listener answers',
  async () => {
    const held = Promise.withResolvers<void>();
    const upstream = await startUpstream(async exchange => {
      await exchange.received();
      await held.promise;
      await exchange.answer(200, [], 'ok');
    });
    const caps = { connections: 20_000 };
    const api = { max_requests_per_caller: '100%' };
    const gateway = await startGatewayProcess(
      { upstreamPort: upstream.port, api, config: { log: { level: 'warn' }, caps } },
      { before: 'ulimit -n 220' },
    );
    const { descriptors } = JSON.parse((await gateway.admin('/status.json')).text);
    expect(descriptors).toMatchObject({ limit: 220, connections: 50, requests: 51 });
    const warning = `file descriptors with all caps full: ${descriptors.needed} of 220, so at most 50 connections`;
    await waitFor('the log has the warning', () => gateway.output.includes(warning));

    const outcomes = new Map<string, number>();
    const clients = Array.from({ length: CLIENTS }, async () => {
      const outcome = await gateway.ask(head('GET /held')).then(
        ({ status }) => `${status}`,
        () => 'closed',
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    });
    const known = () =>
      upstream.requests.length + [...outcomes.values()].reduce((sum, count) => sum + count, 0);
    await waitFor('each client is served or refused', () => known() === CLIENTS);
    expect(upstream.requests).toHaveLength(50);
    for (const path of ['/healthz', '/readyz', '/metrics', '/status'])
      expect((await gateway.admin(path)).status).toBe(200);
    held.resolve();
    await Promise.all(clients);
    expect(outcomes.get('200')).toBe(50);
    expect([...outcomes.keys()].filter(outcome => !['200', '503', 'closed'].includes(outcome))).toEqual([]);
  },
);
