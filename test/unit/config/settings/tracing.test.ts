import { expect, test } from 'vitest';
import { tracing } from '../../../../src/config/settings/tracing.ts';

const problemsOf = (endpoint: string) =>
  tracing.keys.tracing.safeParse({ export: { endpoint } }).error?.issues.map(({ message }) => message) ?? [];

const EXPECTED = 'expected a URL such as http://collector:4318/v1/traces';
const ODD = 'the host is an IPv4 address in an unusual form: write four decimal numbers, such as 127.0.0.1';

test.each(['http://collector:4318/v1/traces', 'https://10.0.0.1/v1/traces', 'https://[::1]:4318/'])(
  'spans can be sent to %s',
  endpoint => expect(problemsOf(endpoint)).toEqual([]),
);

test.each([
  ['collector:4318', EXPECTED],
  ['http://a:b@collector/', EXPECTED],
  ['http://256.0.0.1/', EXPECTED],
  ['https://0x7f.1/v1/traces', ODD],
  ['https://127.1/v1/traces', ODD],
])('spans cannot be sent to %s', (endpoint, problem) => expect(problemsOf(endpoint)).toEqual([problem]));
