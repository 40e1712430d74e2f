import { createPrivateKey, createPublicKey } from 'node:crypto';
import { type IssuerKey, keySetJson, signToken } from '../../support/token-issuer.ts';
import type { Host } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

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
  #ids = 0;

  constructor(world: World) {
    this.#world = world;
    this.host = world.host('provider');
    this.#draws = world.draws.part('provider');
    this.#keys = [keyOf(this.#draws.part('key 1'), 'key-1')];
  }

  get issuer(): string {
    return `http://${this.host.address}`;
  }

  async start(): Promise<void> {
    const { process, system } = this.host.start();
    this.#world.kernel.current = process;
    const server = system.network.createHttpServer((request, response) => {
      this.#world.history.tell(this.name, `is asked ${request.url}`);
      response.sendDate = false;
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      response.end(request.url === '/keys' ? keySetJson(this.#keys) : JSON.stringify(this.#document));
    });
    await new Promise<void>(listening => {
      server.listen({ host: this.host.address, port: 80 }, listening);
    });
  }

  plan(): void {
    const draws = this.#draws.part('faults');
    if (draws.percent(30)) {
      this.#world.plan.add(draws.between(2_000, 20_000), 'the provider signs with a new key', () => {
        const number = this.#keys.length + 1;
        this.#keys.push(keyOf(this.#draws.part(`key ${number}`), `key-${number}`));
      });
    }
  }

  /** A token of one of its users, which is sometimes none that counts. */
  tokenFor(draws: Draws): WorldToken {
    const subject = draws.one(SUBJECTS);
    const issuedAt = Math.floor(this.#world.kernel.epochMs() / 1_000);
    const expiresAt = issuedAt + 3_600;
    const isValid = draws.percent(85);
    const audience = isValid ? 'api' : 'somebody-else';
    const claims = {
      ...{ iss: this.issuer, aud: audience, azp: 'app', sub: subject, typ: 'Bearer' },
      ...{ iat: issuedAt, exp: expiresAt, jti: `token-${++this.#ids}` },
    };
    return this.#known({ text: this.sign(claims), subject, issuedAt, expiresAt, isValid });
  }

  sign(claims: unknown, header: Readonly<Record<string, unknown>> = {}): string {
    const key = this.#keys.at(-1);
    if (key === undefined) throw new Error('the provider has no key');
    return signToken(key, claims, header);
  }

  #known(token: WorldToken): WorldToken {
    this.#world.secrets.add(token.text.slice(token.text.lastIndexOf('.') + 1));
    return token;
  }

  get #document() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/keys`,
    };
  }
}
