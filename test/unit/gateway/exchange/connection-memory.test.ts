import { expect, test } from 'vitest';
import { ConnectionMemory } from '../../../../src/gateway/index.ts';
import { AddressSet } from '../../../../src/wire/http/index.ts';

/** A set that counts how often it is asked. */
class AskedSet extends AddressSet {
  asked = 0;

  override has(address: string): boolean {
    this.asked++;
    return super.has(address);
  }
}

test('the peer of a connection is looked up once per set of proxies', () => {
  const memory = new ConnectionMemory(true);
  const [first, second] = [new AskedSet(['10.0.0.5']), new AskedSet(['192.0.2.1'])];
  for (let i = 0; i < 3; i++) expect(memory.trusts('10.0.0.5', first)).toBe(true);
  for (let i = 0; i < 3; i++) expect(memory.trusts('10.0.0.5', second)).toBe(false);
  expect([first.asked, second.asked]).toEqual([1, 1]);
});

test('a peer that relays for an unknown client is not trusted, even if listed', () => {
  expect(new ConnectionMemory(false).trusts('10.0.0.5', new AddressSet(['10.0.0.5']))).toBe(false);
});
