import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBearer } from '../../../../../src/identity/auth/token/jwt.ts';

const schemes = ['bearer'];

describe('the value of an Authorization field', () => {
  it.each(['Bearer a.b.c', 'bearer a.b.c', 'BEARER a.b.c', 'bEaReR   a.b.c'])(
    '%j holds the token a.b.c',
    value => {
      expect(readBearer(value, schemes)).toBe('a.b.c');
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
    [`Bearer ${'a'.repeat(16_385)}`, 'length'],
  ])('%j is refused', (value, reason) => {
    expect(readBearer(value, schemes)).toEqual({ kind: 'invalid', reason, claim: null, principal: null });
  });

  it('may use any of the configured schemes', () => {
    expect(readBearer('Bot a.b.c', ['bearer', 'bot'])).toBe('a.b.c');
  });

  it('may hold a token of 16,384 characters', () => {
    expect(readBearer(`Bearer ${'a'.repeat(16_384)}`, schemes)).toHaveLength(16_384);
  });

  it('never makes the reader throw, and the token returned is the end of the value', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string().map(rest => `Bearer ${rest}`),
    );
    fc.assert(
      fc.property(value, text => {
        const token = readBearer(text, schemes);
        if (typeof token === 'string') expect(/^bearer +/i.exec(text)?.[0] + token).toBe(text);
      }),
    );
  });
});
