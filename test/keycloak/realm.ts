import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { demoRealm, KeycloakAdmin, type Representation } from '../../src/cli/demo/keycloak-realm.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/index.ts';

/** Where the client `gateway` may send browsers back to. Nothing listens there. */
export const REDIRECT_URI = 'https://app.example/callback';

/** A confidential client. */
export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** A realm of a test's own, with the users, clients and secrets of the demo. */
export class TestRealm {
  readonly name: string;
  readonly issuer: string;
  /** The protocol mappers of the client `gateway` in the realm file. */
  readonly mappers: readonly Representation[];
  readonly #admin: KeycloakAdmin;

  constructor(name: string, mappers: readonly Representation[], admin: KeycloakAdmin) {
    this.name = name;
    this.mappers = mappers;
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

  async secretOf(clientId: string): Promise<string> {
    const [client] = await this.#find('/clients', `clientId=${clientId}`);
    return String(client?.['secret']);
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

  /** Adds a key, which signs from now on if no other has its priority or a higher one; the first has 100. */
  async addKey(priority: number): Promise<void> {
    await this.ask('POST', '/components', {
      ...newKey('rsa', 'RS256', priority),
      providerType: KEY_PROVIDER,
    });
  }

  /** Takes a key out of the key set. */
  async disableKey(keyId: string): Promise<void> {
    const { keys } = (await this.ask('GET', '/keys')) as { keys: { kid: string; providerId: string }[] };
    const id = keys.find(({ kid }) => kid === keyId)?.providerId;
    const component = (await this.ask('GET', `/components/${id}`)) as Representation;
    const config = { ...asObject(component['config']), enabled: ['false'], active: ['false'] };
    await this.ask('PUT', `/components/${id}`, { ...component, config });
  }

  /** Tokens of a client by its own credentials, as the provider's response has them. */
  clientCredentials(clientId: string, secret: string): Promise<Representation> {
    return this.tokens({ grant_type: 'client_credentials' }, { id: clientId, secret });
  }

  /** What the token endpoint answers to this form, past the gateway. Rejects if it refuses. */
  async tokens(
    form: Readonly<Record<string, string>>,
    client: Client = GATEWAY_CLIENT,
  ): Promise<Representation> {
    const response = await this.post('/token', form, client);
    if (!response.ok) throw new Error(`Keycloak refuses ${client.id}: ${await response.text()}`);
    return (await response.json()) as Representation;
  }

  /** Posts a form to an endpoint below `/protocol/openid-connect`, as this client. */
  post(
    endpoint: string,
    form: Readonly<Record<string, string>>,
    client: Client = GATEWAY_CLIENT,
  ): Promise<Response> {
    return fetch(`${this.issuer}/protocol/openid-connect${endpoint}`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
      body: new URLSearchParams(form),
    });
  }

  async #find(path: string, query: string): Promise<readonly Representation[]> {
    return (await this.ask('GET', `${path}?${query}`)) as readonly Representation[];
  }
}

const KEY_PROVIDER = 'org.keycloak.keys.KeyProvider';

/**
 * Keys as Keycloak makes them for a new realm, made here: the first compiler of Java alone takes five seconds for them on a busy
 * machine, nine tenths of the time that a realm takes. The tests of the realm file and of the demo leave it to Keycloak.
 */
const newKeys = () => ({
  [KEY_PROVIDER]: [
    newKey('rsa', 'RS256', 100),
    newKey('rsa-enc', 'RSA-OAEP', 100),
    { name: 'hmac', providerId: 'hmac-generated', config: { priority: ['100'], algorithm: ['HS512'] } },
    { name: 'aes', providerId: 'aes-generated', config: { priority: ['100'] } },
  ],
});

function newKey(providerId: 'rsa' | 'rsa-enc', algorithm: string, priority: number): Representation {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    name: `${algorithm}-${priority}`,
    providerId,
    config: {
      priority: [String(priority)],
      enabled: ['true'],
      active: ['true'],
      algorithm: [algorithm],
      privateKey: [privateKey.export({ type: 'pkcs1', format: 'pem' })],
    },
  };
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
  await admin.createRealm({ ...realm, components: newKeys(), ...settings });
  const mappers = realm.clients[0]?.['protocolMappers'];
  return new TestRealm(name, Array.isArray(mappers) ? mappers : [], admin);
}

/** Stops Keycloak, as a machine that is taken away, or starts it again with all that it knew. */
export async function controlKeycloak(order: 'stop' | 'start'): Promise<void> {
  const response = await fetch(`${inject('keycloakControl')}/${order}`, { method: 'POST' });
  if (!response.ok) throw new Error(`Keycloak does not ${order}: ${await response.text()}`);
}

function asObject(value: unknown): Representation {
  return typeof value === 'object' && value !== null ? (value as Representation) : {};
}
