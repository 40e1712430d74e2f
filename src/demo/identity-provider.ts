import { demoRealm, KeycloakAdmin, provideKeycloak, startKeycloak } from './keycloak/index.ts';
import { startProvider } from './provider/index.ts';

/** How long a person who signs in by hand has to paste the code. */
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

/** The demo's own, which looks like Keycloak and starts at once. */
export const startOwnProvider: StartIdentityProvider = ({ port, redirectUri }) =>
  startProvider({ port, redirectUris: [redirectUri], codeSeconds: CODE_SECONDS });

/** A real Keycloak, with the same realm. Shows its progress, because the first time it is fetched. */
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
