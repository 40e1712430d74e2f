import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Logging, type LoggingOptions, makeLogger } from '../../../../src/observe/log/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { exchangeRecord } from '../exchange-record.ts';

type Options = LoggingOptions & { readonly level: Parameters<typeof makeLogger>[0] };

const paths = { rewrite: () => '/' };

function logging(options: Options) {
  const lines: string[] = [];
  const log = makeLogger(options.level, { write: line => lines.push(line) });
  return { lines, log, logging: new Logging(log, options, new FrozenClock(), 'instance', randomBytes(32)) };
}

test.each([
  ['trace', true, true],
  ['info', true, true],
  ['info', false, false],
  ['warn', true, false],
  ['silent', true, false],
] as const)('at level %s, with log.access %s, that there are access lines is %s', (level, access, there) => {
  const options = { level, access, pseudonymKey: null, paths };
  const atStart = logging(options);
  atStart.logging.finished(exchangeRecord());
  expect(atStart.lines).toHaveLength(there ? 1 : 0);

  for (const before of ['silent', 'info'] as const) {
    const reloaded = logging({ level: before, access: !access, pseudonymKey: null, paths });
    reloaded.logging.use(options);
    reloaded.logging.finished(exchangeRecord());
    expect(reloaded.lines).toHaveLength(there ? 1 : 0);
  }
});

test('access lines stand among the others in the order in which they were written', () => {
  const { lines, log, logging: under } = logging({ level: 'info', access: true, pseudonymKey: null, paths });
  log.info('first');
  under.finished(exchangeRecord({ requestId: 'second' }));
  log.warn('third');
  expect(lines.map(line => JSON.parse(line)).map(line => line.msg ?? line.requestId)).toEqual([
    'first',
    'second',
    'third',
  ]);
});

test('a caller has another name under another key', () => {
  const { lines, logging: under } = logging({ level: 'info', access: true, pseudonymKey: null, paths });
  const other = Buffer.alloc(32, 2);
  for (const pseudonymKey of [null, other, null]) {
    under.use({ level: 'info', access: true, pseudonymKey, paths });
    under.finished(exchangeRecord());
  }
  const [first, second, third] = lines.map(line => JSON.parse(line).caller);
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(second).toMatch(/^[\w-]{22}$/);
  expect(second).not.toBe(first);
  expect(third).toBe(first);
});
