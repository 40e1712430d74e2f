import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PACKAGE_ROOT, systemClock } from '../../core/index.ts';
import { ADMINISTRATOR } from './keycloak.ts';
import { BOT_CLIENT, GATEWAY_CLIENT, PEOPLE } from './provider/index.ts';

/** The realm that docs/keycloak.md tells its readers to import. */
const REALM_FILE = resolve(PACKAGE_ROOT, 'config/keycloak/realm.json');

/** The part of a realm file that is changed here. */
interface RealmFile extends Representation {
  readonly clients: readonly Representation[];
}

interface KeycloakRealmOptions {
  readonly name: string;
  /** The redirect URIs of the client `gateway`. */
  readonly redirectUris: readonly string[];
}

/**
 * Makes a realm from config/keycloak/realm.json that serves plain http and has the demo's users, and whose clients have the
 * demo's names and secrets.
 */
export async function demoRealm({ name, redirectUris }: KeycloakRealmOptions): Promise<RealmFile> {
  const file: RealmFile = JSON.parse(await readFile(REALM_FILE, 'utf8'));
  const [gateway, bot] = file.clients;
  return {
    ...file,
    realm: name,
    sslRequired: 'none',
    clients: [
      { ...gateway, clientId: GATEWAY_CLIENT.id, secret: GATEWAY_CLIENT.secret, redirectUris },
      { ...bot, clientId: BOT_CLIENT.id, secret: BOT_CLIENT.secret },
    ],
    users: PEOPLE.map(person => ({
      username: person.username,
      email: person.email,
      emailVerified: true,
      firstName: person.name.split(' ')[0],
      lastName: person.name.split(' ')[1],
      enabled: true,
      credentials: [{ type: 'password', value: person.password, temporary: false }],
    })),
  };
}

/** How many seconds before its expiry a token is no longer used. */
const SPARE_SECONDS = 20;

/** What Keycloak's admin API calls a representation: a JSON object. */
export type Representation = Readonly<Record<string, unknown>>;

/** Keycloak's admin API, as its administrator. */
export class KeycloakAdmin {
  readonly #origin: string;
  #token = { text: '', goodUntilMs: 0 };

  constructor(origin: string) {
    this.#origin = origin;
  }

  /**
   * Sends a request to `/admin/realms` and below. Rejects unless the response is a success.
   *
   * @param path below `/admin/realms`: `/main/users?username=alice` @returns the body, or `null` if there is none
   */
  async ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.#origin}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.#bearer()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /admin/realms${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  createRealm(realm: Representation): Promise<unknown> {
    return this.ask('POST', '', realm);
  }

  async #bearer(): Promise<string> {
    if (systemClock.epochMs() < this.#token.goodUntilMs) return this.#token.text;
    const response = await fetch(`${this.#origin}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMINISTRATOR }),
    });
    if (!response.ok) throw new Error(`Keycloak refuses its administrator: ${await response.text()}`);
    const { access_token: text, expires_in: seconds } = (await response.json()) as {
      access_token: string;
      expires_in: number;
    };
    this.#token = { text, goodUntilMs: systemClock.epochMs() + (seconds - SPARE_SECONDS) * 1_000 };
    return text;
  }
}
