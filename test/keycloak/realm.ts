import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { demoRealm, KeycloakAdmin, type Representation } from '../../src/demo/keycloak/index.ts';

/** Where the client `gateway` may send browsers back to. Nothing listens there. */
export const REDIRECT_URI = 'https://app.example/callback';

/** A realm of a test's own, with the users, clients and secrets of the demo. */
export class TestRealm {
  readonly name: string;
  readonly issuer: string;
  readonly #admin: KeycloakAdmin;

  constructor(name: string, admin: KeycloakAdmin) {
    this.name = name;
    this.issuer = `${inject('keycloakOrigin')}/realms/${name}`;
    this.#admin = admin;
  }

  /** Asks the admin API about this realm; `path` may be '', or begins with a slash. */
  ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    return this.#admin.ask(method, `/${this.name}${path}`, body);
  }

  /** Changes settings of the realm. */
  async change(settings: Representation): Promise<void> {
    await this.ask('PUT', '', settings);
  }

  async addClient(client: Representation): Promise<void> {
    await this.ask('POST', '/clients', client);
  }

  /** Changes a client. Attributes are added to those that it has. */
  async changeClient(clientId: string, settings: Representation): Promise<void> {
    const [client] = await this.#find('/clients', `clientId=${clientId}`);
    const attributes = { ...asObject(client?.['attributes']), ...asObject(settings['attributes']) };
    await this.ask('PUT', `/clients/${client?.['id']}`, { ...client, ...settings, attributes });
  }

  async addUser(username: string, password: string): Promise<void> {
    await this.ask('POST', '/users', {
      username,
      email: `${username}@example.com`,
      emailVerified: true,
      firstName: username,
      lastName: 'Test',
      enabled: true,
      credentials: [{ type: 'password', value: password, temporary: false }],
    });
  }

  async changeUser(username: string, settings: Representation): Promise<void> {
    const user = await this.user(username);
    await this.ask('PUT', `/users/${user['id']}`, { ...user, ...settings });
  }

  async user(username: string): Promise<Representation> {
    const [user] = await this.#find('/users', `exact=true&username=${username}`);
    if (user === undefined) throw new Error(`there is no user ${username} in ${this.name}`);
    return user;
  }

  /** Tokens of a client by its own credentials, as the provider's response has them. */
  async clientCredentials(clientId: string, secret: string): Promise<Representation> {
    const response = await fetch(`${this.issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    if (!response.ok) throw new Error(`Keycloak refuses ${clientId}: ${await response.text()}`);
    return (await response.json()) as Representation;
  }

  async #find(path: string, query: string): Promise<readonly Representation[]> {
    return (await this.ask('GET', `${path}?${query}`)) as readonly Representation[];
  }
}

/**
 * Makes a new realm in the Keycloak of all tests: once for a file, in `beforeAll`, because that takes a second. It goes with
 * Keycloak.
 *
 * @param settings of the realm, over those of config/keycloak/realm.json
 */
export async function newRealm(settings: Representation = {}): Promise<TestRealm> {
  const name = `test-${randomBytes(4).toString('hex')}`;
  const admin = new KeycloakAdmin(inject('keycloakOrigin'));
  const realm = await demoRealm({ name, redirectUris: [REDIRECT_URI] });
  await admin.createRealm({ ...realm, ...settings });
  return new TestRealm(name, admin);
}

/** Stops Keycloak, as a machine that is taken away, or starts it again with all that it knew. */
export async function controlKeycloak(order: 'stop' | 'start'): Promise<void> {
  const response = await fetch(`${inject('keycloakControl')}/${order}`, { method: 'POST' });
  if (!response.ok) throw new Error(`Keycloak does not ${order}: ${await response.text()}`);
}

function asObject(value: unknown): Representation {
  return typeof value === 'object' && value !== null ? (value as Representation) : {};
}
