import type { Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import { PROMISE_MS } from '../oracles/spread.ts';
import type { RefreshToken, Revocation, SignInCode, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { askOnce, type Question } from './ask-once.ts';
import { PATIENCE_MS, waitOf } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { WorldProvider } from './provider.ts';
import type { Response } from './response-reader.ts';

export const REFRESH = '/v1/users/refresh';
export const SIGN_OUT = '/v1/users/sign-out';

/** How soon somebody can sign in again after all faults are over. */
const PROGRESS_MS = 25_000;
/** What a gateway says as soon as a session has ended there, whatever the provider did. */
const HAS_ENDED = 'of this session are refused from now on';

/**
 * Someone who signs in, over and over: asks where, comes back with a code, and has it traded for a token. Stays signed in for a while, and signs out.
 */
export class SignInClient implements Inhabitant {
  readonly name = 'newcomer';
  readonly #world: World;
  readonly #provider: WorldProvider;
  #process: Process | null = null;
  #network: WorldNetwork | null = null;
  #requests = 0;

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
        own => void this.#live(gateway, own),
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
    const where = { method: 'GET', path: '/v1/anonymous/authorize-url' } as const;
    const place = await this.#ask(gateway, where, PATIENCE_MS);
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

  /** Signs in, gets new tokens from time to time, and signs out, at any of the gateways. */
  async #live(gateway: WorldGateway, draws: Draws): Promise<void> {
    const { codes, gateways } = this.#world;
    const response = await this.#signIn(gateway, draws);
    if (response?.status !== 200) return;
    const { accessToken } = JSON.parse(response.body) as { readonly accessToken: string };
    let { token, refreshToken } = codes.find(each => each.token?.text === accessToken) ?? { token: null };
    for (let i = draws.whole(0, 2); i > 0 && refreshToken != null; i--) {
      await this.#world.pause(draws.between(1, 2_000));
      const isPatient = draws.percent(80);
      const response = await this.#refresh(draws.one(gateways), refreshToken, isPatient, draws);
      if (response?.status !== 200) return;
      ({ token, refreshToken } = refreshToken);
    }
    if (token !== null && refreshToken != null && draws.percent(70))
      await this.#signOut(draws.one(gateways), token, refreshToken, draws);
  }

  async #refresh(
    gateway: WorldGateway,
    token: RefreshToken,
    isPatient: boolean,
    draws: Draws,
  ): Promise<Response | null> {
    token.sent++;
    const body = JSON.stringify({ refreshToken: token.text });
    const question = { method: 'POST', path: REFRESH, body, fields: JSON_BODY } as const;
    const response = await this.#ask(gateway, question, isPatient ? PATIENCE_MS : draws.between(1, 2_000));
    if (response?.status === 200) this.#judge(response, token);
    return response;
  }

  async #signOut(
    gateway: WorldGateway,
    token: WorldToken,
    refreshToken: RefreshToken,
    draws: Draws,
  ): Promise<void> {
    const { gateways, sharing, revocations } = this.#world;
    const { session } = token;
    const revocation: Revocation = {
      ...{ gateway, life: gateway.lives.length, announcedWaitMs: this.#world.nowMs, confirmedMs: null },
      refuses: other => other.session === session,
    };
    revocations.push(revocation);
    refreshToken.end.sent++;
    const body = JSON.stringify({ refreshToken: refreshToken.text });
    const fields = { ...JSON_BODY, Authorization: `Bearer ${token.text}` };
    const response = await this.#ask(gateway, { method: 'POST', path: SIGN_OUT, body, fields }, PATIENCE_MS);
    if (response === null || (response.status !== 204 && !response.body.includes(HAS_ENDED))) return;
    revocation.confirmedMs = this.#world.nowMs;
    for (let i = draws.whole(1, 5); i > 0; i--) {
      await this.#world.pause(draws.between(50, 1_500) + (i === 1 ? PROMISE_MS : 0));
      await this.#show(sharing === null ? gateway : draws.one(gateways), token);
    }
  }

  /** Asks for something with a token. */
  async #show(gateway: WorldGateway, token: WorldToken): Promise<void> {
    const { nowMs, requests } = this.#world;
    const id = `${this.name}-${++this.#requests}`;
    const asked = requests.begin({
      ...{ id, gateway, method: 'GET', path: '/v1/other', token, client: this.name },
      ...{ life: gateway.lives.length, mayRepeat: true, sentMs: nowMs },
    });
    const onRead = () => {
      asked.readMs = this.#world.nowMs;
    };
    const fields = { 'X-World': id, Authorization: `Bearer ${token.text}` };
    await this.#ask(gateway, { method: 'GET', path: asked.path, fields, onRead }, PATIENCE_MS);
  }

  async #redeem(gateway: WorldGateway, code: SignInCode, givesUpMs: number): Promise<Response | null> {
    code.sent++;
    const body = JSON.stringify({ code: code.text, redirectUri: code.redirectUri });
    const path = '/v1/anonymous/auth';
    const response = await this.#ask(gateway, { method: 'POST', path, body, fields: JSON_BODY }, givesUpMs);
    if (response?.status === 200) this.#judge(response, code);
    return response;
  }

  /** Whether the tokens are those that the provider has given for this. */
  #judge({ body }: Response, { text, token, refreshToken }: SignInCode | RefreshToken): void {
    const tokens = JSON.parse(body) as { readonly accessToken: string; readonly refreshToken: string };
    if (tokens.accessToken !== token?.text || tokens.refreshToken !== refreshToken?.text)
      this.#world.wrong('own response', `${text} was traded for tokens that are not its own`);
  }

  async #ask(
    gateway: WorldGateway,
    question: Omit<Question, 'address' | 'port' | 'signal'>,
    givesUpMs: number,
  ): Promise<Response | null> {
    const [network, process] = [this.#network, this.#process];
    if (network === null || process === null) throw new Error(`${this.name} has not started`);
    const { address } = gateway.host;
    const gone = new AbortController();
    this.#world.kernel.after(givesUpMs, process, () => gone.abort());
    const response = await askOnce(network, { ...question, address, port: 80, signal: gone.signal });
    const { method, path } = question;
    this.#world.history.tell(
      this.name,
      `${method} ${path} at ${gateway.name}: ${response?.status ?? 'broken'}`,
    );
    return response;
  }
}

const JSON_BODY = { 'Content-Type': 'application/json' };
