import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBearer } from '../../../../../src/identity/auth/token/jwt.ts';

const schemes = ['bearer'];
const MAX = 16_384;

describe('the value of an Authorization field', () => {
  it.each(['Bearer a.b.c', 'bearer a.b.c', 'BEARER a.b.c', 'bEaReR   a.b.c'])(
    '%j holds the token a.b.c',
    value => {
      expect(readBearer(value, schemes, MAX)).toBe('a.b.c');
    },
  );

  it.each([
    ['', 'scheme'],
    [' Bearer a.b.c', 'scheme'],
    ['Basic dXNlcjpwYXNz', 'scheme'],
    ['Bot a.b.c', 'scheme'],
    ['a.b.c', 'scheme'],
    ['Bearer\ta.b.c', 'scheme'],
    ['Bearer:a.b.c', 'scheme'],
    ['Bearer', 'credentials'],
    ['Bearer ', 'credentials'],
    ['Bearer    ', 'credentials'],
    [`Bearer ${'a'.repeat(16_385)}`, 'too_long'],
  ])('%j is refused', (value, reason) => {
    expect(readBearer(value, schemes, MAX)).toEqual({
      kind: 'invalid',
      reason,
      claim: null,
      principal: null,
    });
  });

  it('may use any of the configured schemes', () => {
    expect(readBearer('Bot a.b.c', ['bearer', 'bot'], MAX)).toBe('a.b.c');
  });

  it.each([16_384, 1_024, 1_048_576])('may hold a token of as many characters as allowed: %d', max => {
    const of = (length: number) => readBearer(`Bearer  ${'a'.repeat(length)}`, schemes, max);
    expect(of(max)).toHaveLength(max);
    expect(of(max + 1)).toMatchObject({ reason: 'too_long' });
  });

  it('never makes the reader throw, and the token returned is the end of the value', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string().map(rest => `Bearer ${rest}`),
    );
    fc.assert(
      fc.property(value, text => {
        const token = readBearer(text, schemes, MAX);
        if (typeof token === 'string') expect(/^bearer +/i.exec(text)?.[0] + token).toBe(text);
      }),
    );
  });
});
