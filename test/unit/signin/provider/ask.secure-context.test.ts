import { expect, test } from 'vitest';
import { NO_TLS } from '../../../../src/signin/options.ts';
import { secureContextOf } from '../../../../src/signin/provider/ask.ts';

test('what https needs is made once for a configuration', () => {
  const tls = { ...NO_TLS };
  expect(secureContextOf(tls)).toBe(secureContextOf(tls));
  expect(secureContextOf(tls)).not.toBe(secureContextOf({ ...NO_TLS }));
});
