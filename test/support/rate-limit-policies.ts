import { type BareItem, type Item, parseList } from 'structured-headers';
import { expect } from 'vitest';

/** An item of `RateLimit-Policy` or `RateLimit`: the name of the policy, and its parameters. */
export interface PolicyItem {
  readonly name: string;
  readonly [parameter: string]: string | number;
}

/** Reads `RateLimit-Policy`, each item checked against draft-ietf-httpapi-ratelimit-headers-11, 3.1. */
export function policiesIn(value: string | undefined): PolicyItem[] {
  const items = itemsIn(value);
  for (const [, parameters] of items) {
    expect(integer(parameters.get('q'))).toBeGreaterThanOrEqual(0);
    expect(integer(parameters.get('w'))).toBeGreaterThan(0);
    expect([...parameters.keys()].filter(key => !['q', 'qu', 'w', 'pk'].includes(key))).toEqual([]);
  }
  return items.map(plain);
}

/** The same of `RateLimit`, 4.1. */
export function serviceLimitsIn(value: string | undefined): PolicyItem[] {
  const items = itemsIn(value);
  for (const [, parameters] of items) {
    expect(integer(parameters.get('r'))).toBeGreaterThanOrEqual(0);
    if (parameters.has('t')) expect(integer(parameters.get('t'))).toBeGreaterThanOrEqual(0);
    expect([...parameters.keys()].filter(key => !['r', 't', 'pk'].includes(key))).toEqual([]);
  }
  return items.map(plain);
}

/** A list that is not empty, of strings with parameters (RFC 9651), as a parser of others reads it. */
function itemsIn(value: string | undefined): Item[] {
  const items = parseList(value ?? '');
  expect(items.length).toBeGreaterThan(0);
  return items.map(([name, parameters]) => {
    if (typeof name !== 'string') throw new Error(`the name of a policy is not a string: ${value}`);
    const partition = parameters.get('pk');
    if (partition !== undefined) expect(partition).toBeInstanceOf(ArrayBuffer);
    return [name, parameters];
  });
}

function integer(value: BareItem | undefined): number {
  expect(value).toSatisfy(Number.isInteger);
  return Number(value);
}

function plain([name, parameters]: Item): PolicyItem {
  const shown = Array.from(parameters, ([key, value]) => {
    if (value instanceof ArrayBuffer) return [key, Buffer.from(value).toString('hex')] as const;
    return [key, typeof value === 'number' ? value : String(value)] as const;
  });
  return { name: String(name), ...Object.fromEntries(shown) };
}
