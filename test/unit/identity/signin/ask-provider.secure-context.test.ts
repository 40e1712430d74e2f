import { expect, test } from 'vitest';
import { secureContextOf } from '../../../../src/identity/signin/ask-provider.ts';
import { NO_TLS } from '../../../../src/identity/signin/options.ts';

test('what https needs is made once for a configuration', () => {
  const tls = { ...NO_TLS };
  expect(secureContextOf(tls)).toBe(secureContextOf(tls));
  expect(secureContextOf(tls)).not.toBe(secureContextOf({ ...NO_TLS }));
});
