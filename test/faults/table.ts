import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CHECKOUT } from '../support/documents.ts';
import type { Counts, Outcome } from './account.ts';

/** What the table says of each fault beside what its clients saw: in the log and metrics, and what comes back by itself. */
const ROWS = {
  'Redis is killed, and started empty': {
    says: '`store`: Redis is unreachable; `weir_store_up` 0',
    returns: 'all of it; what Redis had counted is gone',
  },
  'Redis is stopped (SIGSTOP), and goes on': { says: 'the same', returns: 'all of it' },
  'Redis answers a second late': { says: 'the same', returns: 'all of it' },
  'Redis is out of memory': { says: 'the same', returns: 'all of it' },
  'Redis becomes read-only': { says: 'the same', returns: 'all of it' },
  'Redis is killed, `on_failure: open`': { says: 'the same', returns: 'all of it' },
  'Redis is killed, `on_failure: closed`': { says: 'the same, and `/readyz` 503', returns: 'all of it' },
  'Redis fails over by Sentinel': { says: 'the same', returns: 'all of it, by the new master' },
  'Redis Cluster fails over': { says: 'the same', returns: 'all of it, by the new master' },
  'A service is killed, and started again': {
    says: '`fault` with the cause for each failed request; `weir_errors_total` with side `upstream`',
    returns: 'all of it, with the first connection',
  },
  'A service is stopped, and goes on': { says: 'the same', returns: 'all of it' },
  'A service answers later than `first_byte`': { says: 'the same', returns: 'all of it' },
  'A service dies behind each byte of its answers': { says: 'the same', returns: 'all of it' },
  'A service over HTTP/2 is killed, and started again': { says: 'the same', returns: 'all of it' },
  'A service over HTTP/2 is stopped, and goes on': { says: 'the same', returns: 'all of it' },
  'A service over HTTP/2 answers later than `first_byte`': { says: 'the same', returns: 'all of it' },
  'A service over HTTP/2 dies behind each byte it sends': { says: 'the same', returns: 'all of it' },
  'One of two addresses is killed, and started again': {
    says: '`upstream`: an endpoint gets no requests for a while; the requests that failed as above',
    returns: 'the address, ten seconds after it is back',
  },
  'One of two addresses is stopped, and goes on': { says: 'the same', returns: 'the same' },
  'One of two addresses dies behind each byte of its answers': { says: 'the same', returns: 'the same' },
  'Sign-ins while the provider is killed, and started again': {
    says: '`sign-in` with the cause for each that failed; `weir_sign_ins_total` by outcome',
    returns: 'all of it; requests with tokens were answered throughout',
  },
  'Sign-ins while the provider is stopped, and goes on': { says: 'the same', returns: 'the same' },
  'Sign-ins while the provider answers later than `timeout`': { says: 'the same', returns: 'the same' },
  'Sign-ins while the provider answers with pages of HTML': { says: 'the same', returns: 'the same' },
  'The disk of the log is full': {
    says: '`weir_log_blocked` 1 and the cause in `/status`; lines wait, up to 16 MiB',
    returns: 'the log, without a gap',
  },
  'No descriptors are left': {
    says: 'nothing: the runtime closes what it cannot take. Watch `process_open_fds` against `process_max_fds`',
    returns: 'all of it, as soon as there are some',
  },
  'The heap may hold 48 MiB': { says: 'nothing', returns: 'nothing was lost' },
  'One of two workers dies': {
    says: '`worker`: it ended and is replaced; `weir_worker_replacements_total`',
    returns: 'the worker, with what it had counted',
  },
  'One of two gateways on a Redis is killed, and another started': {
    says: '`weir_store_replicas` 1, then 2',
    returns: 'all of it; clients find the new gateway by the balancer',
  },
  'The clock is an hour ahead, and right again': {
    says: 'nothing',
    returns: 'all of it; who waits as told is admitted, before, meanwhile and after',
  },
  'The clock is an hour behind, and right again': { says: 'the same', returns: 'the same' },
} as const satisfies Record<string, { readonly says: string; readonly returns: string }>;

export type FaultName = keyof typeof ROWS;
export const FAULTS: readonly string[] = Object.keys(ROWS);

const FILE = join(CHECKOUT, 'docs/operations.md');
const PLACE =
  /(<!-- faults: WEIR_WRITE=1 npm run test:faults -->\n\n\|[^\n]*\n\|[^\n]*\n)(.*?)(\n<!-- end -->)/s;
const WORDS: Readonly<Record<string, string>> = {
  cut: 'answer cut off',
  broken: 'connection broken',
  unconnected: 'no connection',
};

/** The rows of the document, by the name of the fault. */
export function documentedRows(): Map<string, string> {
  const rows = PLACE.exec(readFileSync(FILE, 'utf8'))?.[2]?.split('\n').filter(Boolean) ?? [];
  return new Map(rows.map(row => [row.split(' | ')[0]?.slice(2) ?? '', row]));
}

/** Expects that the document has a row of this fault that tells no other ends than these, or, with WEIR_WRITE, writes it. */
export function tell(name: FaultName, counts: Counts, mayEnd: readonly Outcome[] = []): void {
  const { says, returns } = ROWS[name];
  if (process.env['WEIR_WRITE']) write(name, `| ${name} | ${inWords(counts)} | ${says} | ${returns} |`);
  const [, clients = '', ...others] = documentedRows().get(name)?.slice(2, -2).split(' | ') ?? [];
  expect(others, 'WEIR_WRITE=1 npm run test:faults').toEqual([says, returns]);
  const ends = Array.from(clients.matchAll(/; (\w[\w ]*) for/g), ([, end]) => end);
  expect(mayEnd.map(end => WORDS[end] ?? end)).toEqual(expect.arrayContaining(ends));
}

function write(name: string, row: string): void {
  const rows = documentedRows().set(name, row);
  const sorted = FAULTS.flatMap(each => rows.get(each) ?? []);
  const text = readFileSync(FILE, 'utf8');
  writeFileSync(
    FILE,
    text.replace(PLACE, (_, begin, __, end) => `${begin}${sorted.join('\n')}\n${end}`),
  );
}

/** "990 of 1,000 answered; 502 for 7; connection broken for 3" */
function inWords({ answered = 0, ...others }: Counts): string {
  const number = (count: number) => count.toLocaleString('en');
  const ends = Object.entries(others);
  const all = ends.reduce((sum, [, count]) => sum + count, answered);
  const each = ends.map(([end, count]) => `; ${WORDS[end] ?? end} for ${number(count)}`);
  return `${number(answered)} of ${number(all)} answered${each.join('')}`;
}
