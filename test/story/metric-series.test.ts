import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { startUpstream } from '../support/wire/index.ts';

test('no metric series is created by what clients or upstreams make up', async () => {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    await exchange.answer(Number(exchange.request.target.split('=')[1] ?? 200), [], 'ok');
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, route: { path: '/known/**' } });
  const series = async (): Promise<string[]> => {
    const { text } = await gateway.admin('/metrics');
    return text
      .split('\n')
      .filter(line => line.startsWith('weir_'))
      .map(line => line.slice(0, line.lastIndexOf(' ')))
      .sort();
  };
  const random = new Random(3);
  const word = (): string => random.next().toString(36).slice(2);
  const methods = [
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'QUERY',
    'PROPFIND',
    'MKCOL',
    'REPORT',
  ];
  const ask = async (known: boolean, status: number): Promise<void> => {
    const target = `/${known ? 'known' : word()}/${word()}?status=${status}`;
    const lines = [
      `User-Agent: ${word()}`,
      `X-Forwarded-For: 192.0.2.${random.below(256)}`,
      `X-${word()}: ${word()}`,
    ];
    await gateway.ask(
      `${random.pick(methods)} ${target} HTTP/1.1\r\nHost: ${word()}.test\r\n${lines.join('\r\n')}\r\n\r\n`,
    );
  };
  // 1. Once for each thing that may make a series: a route, no route, a bad request, a status of each kind.
  for (const status of [200, 299, 399, 499, 599]) await ask(true, status);
  await ask(false, 200);
  await gateway.ask(head('GET //'));
  const before = await series();
  // 2. Many more of the same kinds, each with other words.
  for (let i = 0; i < 300; i++)
    await ask(random.chance(0.7), random.pick([200, 280 + random.below(20), 480, 481, 590]));
  expect(await series()).toEqual(before);
});
