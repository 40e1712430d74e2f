import type { Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { SignInCode } from '../requests.ts';
import type { World } from '../world.ts';
import { askOnce } from './ask-once.ts';
import { PATIENCE_MS, waitOf } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { WorldProvider } from './provider.ts';
import type { Response } from './response-reader.ts';

/** How soon somebody can sign in again after all faults are over. */
const PROGRESS_MS = 25_000;

/** Someone who signs in, over and over: asks where, comes back with a code, and has it traded for a token. */
export class SignInClient implements Inhabitant {
  readonly name = 'newcomer';
  readonly #world: World;
  readonly #provider: WorldProvider;
  #process: Process | null = null;
  #network: WorldNetwork | null = null;

  constructor(world: World, provider: WorldProvider) {
    this.#world = world;
    this.#provider = provider;
  }

  async start(): Promise<void> {
    const { process, network } = this.#world.host(this.name).start();
    this.#process = process;
    this.#network = network;
  }

  plan(): void {
    const draws = this.#world.draws.part('sign-ins');
    for (let i = draws.whole(0, 6); i > 0; i--) {
      const gateway = draws.one(this.#world.gateways);
      this.#world.plan.add(
        draws.between(0, 25_000),
        `${this.name} signs in at ${gateway.name}`,
        own => void this.#signIn(gateway, own),
      );
    }
  }

  async prove(): Promise<void> {
    for (const gateway of this.#world.gateways) {
      const untilMs = this.#world.nowMs + PROGRESS_MS;
      let response: Response | null = null;
      while (response?.status !== 200 && this.#world.nowMs < untilMs) {
        if (response !== null || this.#world.nowMs > 0)
          await this.#world.pause(response?.status === 429 ? waitOf(response) : 500);
        response = await this.#signIn(gateway, null);
      }
      if (response?.status !== 200)
        this.#world.wrong(
          'progress',
          `nobody can sign in at ${gateway.name}: ${response?.status ?? 'broken'}`,
        );
    }
  }

  /** @param draws what goes wrong; `null`: nothing */
  async #signIn(gateway: WorldGateway, draws: Draws | null): Promise<Response | null> {
    const place = await this.#ask(gateway, null, PATIENCE_MS);
    if (place?.status !== 200) return place;
    const { url } = JSON.parse(place.body) as { readonly url: string };
    const { origin, pathname, searchParams } = new URL(url);
    if (`${origin}${pathname}` !== `${this.#provider.issuer}/authorize`)
      this.#world.wrong('sign-in', `${gateway.name} sends users to ${url}`);
    const redirectUri = searchParams.get('redirect_uri') ?? '';
    const code = this.#provider.tokens.codeFor(this.name, redirectUri, draws === null);
    const givesUpMs = draws?.percent(20) === true ? draws.between(1, 2_000) : PATIENCE_MS;
    let response = await this.#redeem(gateway, code, givesUpMs);
    // Some do not know that a code works once.
    if (response === null && draws?.percent(30) === true)
      response = await this.#redeem(gateway, code, PATIENCE_MS);
    return response;
  }

  async #redeem(gateway: WorldGateway, code: SignInCode, givesUpMs: number): Promise<Response | null> {
    code.sent++;
    const body = JSON.stringify({ code: code.text, redirectUri: code.redirectUri });
    const response = await this.#ask(gateway, body, givesUpMs);
    if (response?.status !== 200) return response;
    const { accessToken } = JSON.parse(response.body) as { readonly accessToken: string };
    if (accessToken !== code.token?.text)
      this.#world.wrong('own response', `${code.text} was traded for a token that is not its own`);
    return response;
  }

  async #ask(gateway: WorldGateway, body: string | null, givesUpMs: number): Promise<Response | null> {
    const [network, process] = [this.#network, this.#process];
    if (network === null || process === null) throw new Error(`${this.name} has not started`);
    const { address } = gateway.host;
    const gone = new AbortController();
    this.#world.kernel.after(givesUpMs, process, () => gone.abort());
    const to = { address, port: 80, signal: gone.signal } as const;
    const response = await askOnce(
      network,
      body === null
        ? { ...to, method: 'GET', path: '/v1/anonymous/authorize-url' }
        : {
            ...to,
            ...{ method: 'POST', path: '/v1/anonymous/auth', body },
            fields: { 'Content-Type': 'application/json' },
          },
    );
    const what = body === null ? 'asks where to sign in' : 'brings a code';
    this.#world.history.tell(this.name, `${what}: ${response?.status ?? 'broken'}`);
    return response;
  }
}
