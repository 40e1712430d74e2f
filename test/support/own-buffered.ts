import { ownMemory, thisMachine } from '../../src/core/index.ts';
import { Buffered } from '../../src/edge/server/buffered.ts';

/** An account of what is held for clients, without a cap. */
export function ownBuffered(listener = { buffersFull: () => {} }): Buffered {
  const { files, randomBytes } = thisMachine;
  return new Buffered({ memory: ownMemory(randomBytes), files, listener });
}
