import { describe, expect, it } from 'vitest';
import { FoldedNames } from '../../../../src/wire/http/index.ts';

describe('names that are looked up as careless servers do', () => {
  const names = new FoldedNames(['X-Plan', 'x_plan', 'Cookie', '$x']);

  it('are each there once', () => {
    expect(names.names).toEqual(['x-plan', 'cookie', '-x']);
  });

  it.each(['X-Plan', 'x-plan', 'X_PLAN', 'x.plan', 'x plan', 'COOKIE', '~X'])('are found as %s', name => {
    expect(names.has(name)).toBe(true);
  });

  it.each(['', 'X-Plans', 'X-Pla', 'XPlan', 'X--Plan', 'Cookies', 'X'])('are not found as %s', name => {
    expect(names.has(name)).toBe(false);
  });

  it('are taken away with their values, and nothing else', () => {
    const fields = ['A', '1', 'x_plan', '2', 'X-Plan', 'A', 'Cookie', 'X-Plan', 'B', '3'];
    expect(names.without(fields)).toEqual(['A', '1', 'B', '3']);
    expect(fields).toHaveLength(10);
  });
});
