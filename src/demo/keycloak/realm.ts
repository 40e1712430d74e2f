import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PACKAGE_ROOT } from '../../core/index.ts';
import { BOT_CLIENT, GATEWAY_CLIENT, PEOPLE } from '../provider/index.ts';
import type { Representation } from './admin.ts';

/** The realm that docs/keycloak.md has its readers import. */
const REALM_FILE = resolve(PACKAGE_ROOT, 'config/keycloak/realm.json');

/** The part of a realm file that is changed here. */
interface RealmFile extends Representation {
  readonly clients: readonly Representation[];
}

export interface KeycloakRealmOptions {
  readonly name: string;
  /** The redirect URIs of the client `gateway`. */
  readonly redirectUris: readonly string[];
}

/**
 * Makes a realm of config/keycloak/realm.json that serves plain http and knows the demo's users, and whose clients have the
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
