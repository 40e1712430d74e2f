import { HASTE_MS, HASTY_WORDS } from '../inhabitants/grpc-service.ts';
import type { Oracle } from './oracle.ts';

/** How long after its deadline a call may end. */
const LATE_MS = 20;

/** No gateway holds a call for longer than its client gives it. */
export const deadlines: Oracle = world => {
  for (const { name, lives } of world.gateways) {
    for (const { text } of lives.flatMap(({ lines }) => lines)) {
      if (!text.includes(HASTY_WORDS)) continue;
      const { durationMs, requestId } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      if (Number(durationMs ?? 0) > HASTE_MS + LATE_MS)
        world.wrong('deadlines', `${name}: the call ${requestId} took ${durationMs} ms`);
    }
  }
};
