import { randomBytes } from 'node:crypto';
import { type Clock, type StoreListener, systemClock } from '../../src/core/index.ts';
import { MemoryStore } from '../../src/limits/index.ts';
import { RedisStore, type RedisStoreDependencies } from '../../src/limits/redis/index.ts';

/** Hears nothing. */
export const deafListener: StoreListener = {
  decidedBy() {},
  failed() {},
  lost() {},
  found() {},
  behind() {},
  caughtUp() {},
  shareFailed() {},
  subscribed() {},
  rightsMissing() {},
  taskFailed() {},
  beat() {},
};

/** A store on this runner that never falls back: what fails fails the test. */
export function storeOn(
  connection: RedisStoreDependencies['connection'],
  parts: Partial<RedisStoreDependencies> = {},
  clock: Clock = systemClock,
): RedisStore {
  return new RedisStore({
    connection,
    health: {
      isShared: true,
      failed(error) {
        throw error;
      },
      mention(error) {
        throw error;
      },
    },
    local: new MemoryStore({ clock, randomBytes, maxKeys: 100 }),
    replicas: () => 1,
    policy: 'local',
    keysPerCaller: 4_096,
    clock,
    listener: deafListener,
    id: randomBytes(8).toString('hex'),
    ...parts,
  });
}
