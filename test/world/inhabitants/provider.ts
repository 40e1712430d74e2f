import { createPrivateKey, createPublicKey } from 'node:crypto';
import { type IssuerKey, keySetJson, signToken } from '../../support/token-issuer.ts';
import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { Revocation, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { askOnce } from './ask-once.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import { TokenEndpoint } from './token-endpoint.ts';

/** What precedes the 32 bytes of a private key of Ed25519 in PKCS #8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A key that is the same each time: Ed25519 signs without chance, too. */
function keyOf(draws: Draws, kid: string): IssuerKey {
  const der = Buffer.concat([PKCS8, draws.randomBytes(32)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' });
  return { kid, alg: 'EdDSA', privateKey, jwk: { ...jwk, kid, alg: 'EdDSA', use: 'sig' } };
}

const SUBJECTS = ['alice', 'bob', 'carol'] as const;

/** An identity provider: it publishes keys, and everyone gets tokens of it out of thin air. */
export class WorldProvider implements Inhabitant {
  readonly name = 'provider';
  readonly host: Host;
  readonly #world: World;
  readonly #draws: Draws;
  readonly #keys: IssuerKey[];
  #process: Process | null = null;
  #network: WorldNetwork | null = null;
  #ids = 0;
  /** Where it trades codes. */
  readonly tokens: TokenEndpoint;

  constructor(world: World) {
    this.#world = world;
    this.host = world.host('provider');
    this.#draws = world.draws.part('provider');
    this.#keys = [keyOf(this.#draws.part('key 1'), 'key-1')];
    this.tokens = new TokenEndpoint(world, this.#draws.part('tokens'), (draws, session) =>
      this.tokenFor(draws, session),
    );
  }

  get issuer(): string {
    return `http://${this.host.address}`;
  }

  async start(): Promise<void> {
    const { process, system, network } = this.host.start();
    this.#process = process;
    this.#network = network;
    this.#world.kernel.current = process;
    const server = system.network.createHttpServer((request, response) => {
      this.#world.history.tell(this.name, `is asked ${request.url}`);
      response.sendDate = false;
      response.on('error', () => {});
      if (request.url === '/token' || request.url === '/revoke') {
        void this.tokens.serve(request, response, (ms, run) => this.#world.kernel.after(ms, process, run));
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      response.end(request.url === '/keys' ? keySetJson(this.#keys) : JSON.stringify(this.#document));
    });
    await new Promise<void>(listening => {
      server.listen({ host: this.host.address, port: 80 }, listening);
    });
  }

  plan(): void {
    const draws = this.#draws.part('faults');
    this.#planRevocations(draws.part('revocations'));
    if (draws.percent(25)) {
      const awayMs = draws.between(100, 6_000);
      this.#world.plan.add(
        draws.between(1_000, 20_000),
        `the provider dies for ${awayMs.toFixed()} ms`,
        own => {
          this.#die(own.percent(30));
          this.#world.kernel.after(awayMs, this.#world.wires.everyone, () => void this.heal());
        },
      );
    }
    if (draws.percent(30)) {
      this.#world.plan.add(draws.between(2_000, 20_000), 'the provider signs with a new key', () => {
        const number = this.#keys.length + 1;
        this.#keys.push(keyOf(this.#draws.part(`key ${number}`), `key-${number}`));
      });
    }
  }

  async heal(): Promise<void> {
    if (this.#process === null) await this.start();
  }

  async leave(): Promise<void> {
    this.#die(false);
  }

  #die(isSilent: boolean): void {
    if (this.#process === null) return;
    this.host.kill(this.#process, isSilent);
    this.#process = null;
    this.#network = null;
  }

  #planRevocations(draws: Draws): void {
    for (const gateway of this.#world.gateways) {
      for (let i = draws.percent(40) ? draws.whole(1, 2) : 0; i > 0; i--)
        this.#world.plan.add(
          draws.between(2_000, 22_000),
          `all tokens are revoked at ${gateway.name}`,
          () => void this.revoke(gateway),
        );
    }
  }

  /** Tells a gateway that all tokens until now do not count, as Keycloak does it. */
  async revoke(gateway: WorldGateway): Promise<void> {
    if (this.#network === null) return;
    const notBefore = Math.floor(this.#world.kernel.epochMs() / 1_000);
    const body = this.#sign({
      ...{ id: `push-${++this.#ids}`, resource: 'gateway', action: 'PUSH_NOT_BEFORE', notBefore },
      expiration: notBefore + 30,
    });
    this.#world.secrets.add(signatureOf(body));
    const life = gateway.lives.length;
    const revocation: Revocation = {
      ...{ gateway, life, announcedWaitMs: this.#world.nowMs, confirmedMs: null },
      refuses: ({ issuedAt }) => issuedAt < notBefore,
    };
    this.#world.revocations.push(revocation);
    const response = await askOnce(this.#network, {
      ...{ address: gateway.host.address, port: 81, method: 'POST', body },
      path: '/notices/k_push_not_before',
      fields: { 'Content-Type': 'text/plain' },
    });
    this.#world.history.tell(
      this.name,
      `revoked all tokens at ${gateway.name}: ${response?.status ?? 'broken'}`,
    );
    const isKnown = this.#keys.length === 1 && gateway.host.wallOffsetsMs.length === 1;
    if (response?.status === 400 && isKnown)
      this.#world.wrong('notices', `${gateway.name} refuses a notice: ${response.body}`);
    if (response?.status === 204) revocation.confirmedMs = this.#world.nowMs;
  }

  /** A token of one of its users, which is sometimes none that counts. */
  tokenFor(draws: Draws, session: string | null = null): WorldToken {
    const subject = draws.one(SUBJECTS);
    const issuedAt = Math.floor(this.#world.kernel.epochMs() / 1_000);
    const expiresAt = issuedAt + 3_600;
    const isValid = draws.percent(85);
    const audience = isValid ? 'api' : 'somebody-else';
    const claims = {
      ...{ iss: this.issuer, aud: audience, azp: 'app', sub: subject, typ: 'Bearer' },
      ...{ iat: issuedAt, exp: expiresAt, jti: `token-${++this.#ids}` },
      ...(session !== null && { sid: session }),
    };
    const text = this.#sign(claims);
    this.#world.secrets.add(signatureOf(text));
    return { text, subject, session, issuedAt, expiresAt, isValid, key: this.#keys.length };
  }

  #sign(claims: unknown): string {
    const key = this.#keys.at(-1);
    if (key === undefined) throw new Error('the provider has no key');
    return signToken(key, claims);
  }

  get #document() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      revocation_endpoint: `${this.issuer}/revoke`,
      jwks_uri: `${this.issuer}/keys`,
    };
  }
}

function signatureOf(token: string): string {
  return token.slice(token.lastIndexOf('.') + 1);
}
