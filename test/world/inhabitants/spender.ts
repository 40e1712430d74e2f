import type { Draws } from '../kernel/draws.ts';
import { isCalm } from '../oracles/spread.ts';
import { askAdmin, askGateway } from './ask-once.ts';
import { Asker } from './asker.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

/** More than any limit admits at once. */
const MOST = 40;
/** How soon every gateway has forgotten the refusals that it remembers. */
const FORGOTTEN_MS = 1_100;
/** How exact the moments are at which a client sees a decision. */
const MOMENT_MS = 100;

type Scope = 'global' | 'things';

/** Uses up an allowance, has an operator give it a fresh one, and looks what it may have now: exactly what was reset is fresh. */
export class Spender extends Asker {
  readonly name = 'spender';
  #isSpending = false;

  plan(): void {
    const draws = this.world.draws.part(this.name);
    for (let i = draws.percent(50) ? draws.whole(1, 2) : 0; i > 0; i--)
      this.world.plan.add(
        draws.between(1_000, 25_000),
        `${this.name} uses up what it may have`,
        own => void this.#spend(own, own.one(this.#paths), own.percent(50)),
      );
  }

  async prove(): Promise<void> {
    const draws = this.world.draws.part(`${this.name} in the end`);
    for (const path of this.#paths)
      await this.#spend(draws, path, path === '/v1/open' ? draws.percent(70) : draws.percent(50));
  }

  /** What only the global limit counts, and what the bucket counts as well. */
  get #paths(): readonly string[] {
    return this.world.limits.global === null ? ['/v1/things'] : ['/v1/things', '/v1/open'];
  }

  /** Unless it spends already: what one of the two used would be missing from the other's allowance. */
  async #spend(draws: Draws, path: string, isAll: boolean): Promise<void> {
    if (this.#isSpending) return;
    this.#isSpending = true;
    await this.#spendAlone(draws, path, isAll);
    this.#isSpending = false;
  }

  async #spendAlone(draws: Draws, path: string, isAll: boolean): Promise<void> {
    const { gateways, sharing } = this.world;
    const first = draws.one(gateways);
    const any = () => (sharing === null ? first : draws.one(gateways));
    const [spentAt, resetAt, askedAt] = [first, any(), any()];
    const lives = [spentAt, resetAt, askedAt].map(each => each.lives.length);
    const fromMs = this.world.nowMs;
    const refused = await this.#useUp(spentAt, path);
    const refusedMs = this.world.nowMs;
    await this.world.pause(MOMENT_MS / 2);
    if (refused === null || !(await this.#reset(resetAt, isAll))) return;
    await this.world.pause(askedAt === resetAt ? MOMENT_MS / 2 : FORGOTTEN_MS);
    const askedMs = this.world.nowMs;
    const next = await this.#ask(askedAt, path);
    const isSame = [spentAt, resetAt, askedAt].every(
      (each, i) => each.lives.length === lives[i] && isCalm(this.world, each, fromMs),
    );
    if (next === null || !isSame) return;
    const wrong = (what: string) =>
      this.world.wrong('reset', `${askedAt.name} ${what} after ${isAll ? 'everything' : 'things'} was reset`);
    const scope = scopeOf(next);
    if (scope === 'things' || (scope === 'global' && isAll)) wrong(`refuses by ${scope}`);
    const [left, most] = ['remaining', 'limit'].map(name => next.fields.get(`x-ratelimit-${name}`));
    if (scope === null && left !== undefined && Number(left) !== Number(most) - 1)
      wrong(`has ${left} of ${most} left`);
    const isStill = askedMs < refusedMs + waitOf(refused) - MOMENT_MS;
    if (scopeOf(refused) === 'global' && !isAll && isStill && next.status === 200)
      wrong('has forgotten what was used of the global limit');
  }

  /** Asks until it is refused by a limit. */
  async #useUp(gateway: WorldGateway, path: string): Promise<Response | null> {
    for (let i = 0; i < MOST; i++) {
      const response = await this.#ask(gateway, path);
      if (response === null) return null;
      if (response.status === 429) return response;
    }
    return null;
  }

  async #reset(gateway: WorldGateway, isAll: boolean): Promise<boolean> {
    if (this.network === null) return false;
    const { sharing, history } = this.world;
    const query = `address=${this.address}${isAll ? '' : '&bucket=things'}`;
    const response = await askAdmin(this.network, gateway, 'DELETE', `/api/buckets?${query}`);
    history.tell(this.name, `is reset by ${gateway.name}: ${response?.status ?? 'broken'}`);
    if (response?.status !== 200) return false;
    const { countedIn } = JSON.parse(response.body) as { readonly countedIn: string };
    return sharing === null || countedIn === 'redis';
  }

  async #ask(gateway: WorldGateway, path: string): Promise<Response | null> {
    if (this.network === null) return null;
    const id = this.nextId(`probe-${this.name}`);
    const wish = { client: this.name, id, gateway, path };
    const { response } = await askGateway(this.world, this.network, wish);
    return response;
  }
}

/** The limit that refused; `null` if none did. */
function scopeOf({ status, fields }: Response): Scope | null {
  if (status !== 429) return null;
  return fields.get('x-ratelimit-scope') === 'global' ? 'global' : 'things';
}

function waitOf({ body }: Response): number {
  return 1_000 * (JSON.parse(body) as { readonly retry_after: number }).retry_after;
}
