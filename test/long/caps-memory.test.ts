import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fillInTurn } from '../../scripts/caps/fill.ts';
import { CONNECTIONS_AND_REQUESTS } from '../../scripts/caps/fillings.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/memory.md');
/** Garbage, and what the allocator keeps, may come to so much at any moment. */
const NOISE_MIB = 24;

/** The clients who take most, and how many of each come. */
const CLIENTS: Readonly<Record<string, number>> = {
  'HTTP/1.1 stops within a head of 16 KiB': 200,
  'HTTP/2, TLS rests after the handshake': 200,
  'HTTP/1.1 does not read a response': 100,
  'HTTP/2 does not read a response': 100,
  'gRPC does not read messages': 100,
  'WebSocket sends to a service that does not read': 100,
  'WebSocket does not read messages': 100,
};

/** What one takes, in KiB, by the table of docs/memory.md. */
async function promises(): Promise<ReadonlyMap<string, number>> {
  const rows = (await readFile(DOCUMENT, 'utf8')).matchAll(
    /^\| ([^|]+) \| ([^|]+) \| [^|]+ \| ([\d.]+) \|/gm,
  );
  return new Map([...rows].map(([, protocol, what, kib]) => [`${protocol} ${what}`, Number(kib)]));
}

test('caps of the configuration filled at once stay under what docs promise for sizing', async () => {
  const promised = await promises();
  const fillings = CONNECTIONS_AND_REQUESTS.flatMap(filling => {
    const count = CLIENTS[`${filling.protocol} ${filling.what}`];
    return count === undefined ? [] : [[filling, count] as const];
  });
  expect(fillings).toHaveLength(Object.keys(CLIENTS).length);
  const filled = await fillInTurn({}, fillings, 2_000);
  const tooMuch = filled.flatMap(({ filling, count, before, after }) => {
    const name = `${filling.protocol} ${filling.what}`;
    const allowed = (2 * (promised.get(name) ?? 0) * count) / 1_024 + NOISE_MIB;
    const took = (after - before) / 2 ** 20;
    return took <= allowed ? [] : [`${name}: ${took.toFixed(0)} MiB, ${allowed.toFixed(0)} are allowed`];
  });
  expect(tooMuch).toEqual([]);
});
