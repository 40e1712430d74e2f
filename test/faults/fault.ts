import { expect } from 'vitest';
import type { TestGateway } from '../support/test-gateway.ts';
import { waitFor as waitForMs } from '../support/wait.ts';
import { KINDS, type Outcome } from './account.ts';
import type { Load } from './load.ts';
import type { Seen } from './table.ts';

/** Waits as `waitFor` of the support does, for longer: a machine that is busy takes minutes to reconnect hundreds of times. */
export function waitFor(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  return waitForMs(what, condition, 240_000);
}

/** Something that goes wrong, and is put right again. */
export interface Fault {
  readonly begin: () => unknown;
  /** Whether the gateway has noticed. Default: it need not. */
  readonly isNoticed?: () => boolean | Promise<boolean>;
  /** Runs while the fault lasts and the load goes on. */
  readonly meanwhile?: () => Promise<void>;
  readonly end: () => unknown;
  /** Whether everything is as before. Default: once all is answered. */
  readonly isHealed?: () => boolean | Promise<boolean>;
  /** How requests, calls and messages may end meanwhile, but for those that the service answers. Default: in no other way. */
  readonly mayEnd?: readonly Outcome[];
}

/** Puts a fault in the midst of a load, which is answered before and after, and tells what became of requests meanwhile. */
export async function underFault(load: Load, fault: Fault): Promise<Seen> {
  await load.isWhole();
  const before = load.account.firstOpen;
  await fault.begin();
  await waitFor('the gateway notices', fault.isNoticed ?? (() => true));
  await load.passes(60);
  await fault.meanwhile?.();
  await fault.end();
  await waitFor('it is as before', fault.isHealed ?? (() => true));
  const after = load.begun;
  await load.isWhole();
  // What began before has ended by now: so many have begun and ended since.
  const { answered: _, ...others } = load.account.counts(before, after);
  expect([...(fault.mayEnd ?? [])]).toEqual(expect.arrayContaining(Object.keys(others)));
  return seenBy(load, before, after);
}

/** What the clients of a load saw, by kind. */
export function seenBy({ account }: Load, from: number, to: number): Seen {
  return Object.fromEntries(KINDS.map(kind => [kind, account.counts(from, to, [kind])])) as unknown as Seen;
}

const AT_REST = [
  'weir_requests_in_flight',
  'weir_client_connections',
  'weir_websockets_open',
  'weir_limit_in_flight',
];

/** Expects that the load was in order, and that the gateway holds nothing of it any longer. */
export async function expectAtRest(load: Load, gateways: readonly TestGateway[]): Promise<void> {
  await load.stop();
  load.account.expectInOrder();
  for (const gateway of gateways) {
    for (const name of AT_REST) {
      await waitFor(`${name} is 0`, async () => (await gateway.counted(name)).size === 0);
    }
  }
}
