import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../core/index.ts';

const TIME_BYTES = 6;
const CODE_BYTES = 12;
const NONCE = /^[\w-]{24}$/;
/** How far the clocks of gateways may differ. */
const SKEW_MS = 30_000;

/**
 * Nonces that the gateway issues for proofs (RFC 9449, 8). A nonce is a time with a code that only the gateway can make, so none
 * has to be remembered, and gateways with the same secret accept each other's.
 */
export class Nonces {
  readonly #clock: Pick<Clock, 'epochMs'>;
  /** The secret in use, then the previous one, whose nonces stay valid. */
  #secrets: readonly Buffer[];
  /** Called when clients first need a nonce. */
  onFirstUse: () => void = () => {};
  #areUsed = false;
  #current = '';
  #madeAtMs = Number.NEGATIVE_INFINITY;

  constructor(secret: Buffer, clock: Pick<Clock, 'epochMs'>) {
    this.#secrets = [secret];
    this.#clock = clock;
  }

  get areUsed(): boolean {
    return this.#areUsed;
  }

  get secret(): Buffer {
    return this.#secrets[0] ?? Buffer.alloc(0);
  }

  /** Makes nonces with another secret from now on, such as that of the other gateways. */
  use(secret: Buffer): void {
    if (secret.equals(this.secret)) return;
    this.#secrets = [secret, this.secret];
    this.#madeAtMs = Number.NEGATIVE_INFINITY;
  }

  /** A nonce for clients: the same one for a quarter of its life. */
  fresh(lifeMs: number): string {
    const nowMs = this.#clock.epochMs();
    const ageMs = nowMs - this.#madeAtMs;
    if (!this.#areUsed) {
      this.#areUsed = true;
      this.onFirstUse();
    }
    if (ageMs >= 0 && ageMs < lifeMs / 4) return this.#current;
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUIntBE(Math.floor(nowMs), 0, TIME_BYTES);
    this.#current = Buffer.concat([time, codeOf(time, this.secret)]).toString('base64url');
    this.#madeAtMs = nowMs;
    return this.#current;
  }

  /** Judges a nonce that a client sent. `aging`: it is valid for less than half of its life. */
  judge(nonce: string, lifeMs: number): 'good' | 'aging' | 'bad' {
    if (!NONCE.test(nonce)) return 'bad';
    const bytes = Buffer.from(nonce, 'base64url');
    const [time, code] = [bytes.subarray(0, TIME_BYTES), bytes.subarray(TIME_BYTES)];
    const ageMs = this.#clock.epochMs() - time.readUIntBE(0, TIME_BYTES);
    if (ageMs > lifeMs || ageMs < -SKEW_MS) return 'bad';
    if (!this.#secrets.some(secret => timingSafeEqual(codeOf(time, secret), code))) return 'bad';
    return ageMs > lifeMs / 2 ? 'aging' : 'good';
  }
}

function codeOf(time: Buffer, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(time).digest().subarray(0, CODE_BYTES);
}
