import { HASTE_MS, HASTY_WORDS } from '../inhabitants/grpc-service.ts';
import type { Oracle } from './oracle.ts';

/** How long after its deadline a call may end whose client takes what it gets. */
const LATE_MS = 20;
/**
 * How long, if the client may be gone, and the whole response waits for it: `keep_alive` of silence until a PING, `client_read` until that counts as
 * unanswered, and what sweeps and other weather add.
 */
const UNREAD_MS = 20_000;

/** No gateway holds a call for longer than its client gives it. */
export const deadlines: Oracle = world => {
  for (const { name, lives } of world.gateways) {
    for (const { atMs, text } of lives.flatMap(({ lines }) => lines)) {
      if (!text.includes(HASTY_WORDS)) continue;
      const { durationMs, requestId } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const tookMs = Number(durationMs ?? 0);
      // Other requests of the connection stand before it.
      const isCalm = world.wires.weather.wasCalm(name, atMs - tookMs - UNREAD_MS, atMs);
      if (tookMs > HASTE_MS + (isCalm ? LATE_MS : UNREAD_MS))
        world.wrong('deadlines', `${name}: the call ${requestId} took ${durationMs} ms`);
    }
  }
};
