import { demoRealm, KeycloakAdmin, provideKeycloak, startKeycloak } from './keycloak/index.ts';
import { startProvider } from './provider/index.ts';

/** The lifetime of a code: a person who signs in by hand must have time to paste it. */
const CODE_SECONDS = 300;

/** The running identity provider of the demo. */
export interface IdentityProvider {
  readonly issuer: string;
  close(): Promise<unknown>;
}

export interface IdentityProviderOptions {
  /** On 127.0.0.1; 0: any free port, which Keycloak cannot choose. */
  readonly port: number;
  /** Where the demo's page is. */
  readonly redirectUri: string;
}

export type StartIdentityProvider = (options: IdentityProviderOptions) => Promise<IdentityProvider>;

/** Starts the demo's own provider, which looks like Keycloak and starts at once. */
export const startOwnProvider: StartIdentityProvider = ({ port, redirectUri }) =>
  startProvider({ port, redirectUris: [redirectUri], codeSeconds: CODE_SECONDS });

/** Starts a real Keycloak with the same realm. Shows its progress, because the first start downloads it. */
export const startRealKeycloak: StartIdentityProvider = async ({ port, redirectUri }) => {
  const home = await provideKeycloak(line => console.log(line));
  console.log('starting Keycloak, which takes about 15 seconds');
  const keycloak = await startKeycloak({ home, port });
  try {
    const realm = await demoRealm({ name: 'demo', redirectUris: [redirectUri] });
    await new KeycloakAdmin(keycloak.origin).createRealm({ ...realm, accessCodeLifespan: CODE_SECONDS });
    return { issuer: `${keycloak.origin}/realms/demo`, close: () => keycloak.close() };
  } catch (error) {
    await keycloak.close();
    throw error;
  }
};
