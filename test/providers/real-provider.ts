import { expect } from 'vitest';
import { parse } from 'yaml';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { authorizeUrl, json } from '../support/sign-in-client.ts';
import { tempText } from '../support/temp.ts';
import { startUpstream } from '../support/wire/index.ts';

export const REDIRECT = 'https://app.example.com/callback';
const REFRESH = '/v1/users/refresh';

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
}

/**
 * A gateway in front of a provider that runs here, with the configuration of a row of docs/providers.md, whose addresses are already
 * those of the provider.
 *
 * @param more keys of `access_tokens` and of the route in addition to the row's
 */
export async function startBefore(
  config: string,
  clientSecret: string,
  more: { readonly accessTokens?: object; readonly route?: object } = {},
) {
  const written = parse(config);
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      identity_provider: {
        ...written.identity_provider,
        client_secret_file: await tempText('client-secret', secret(clientSecret)),
      },
      access_tokens: {
        ...written.access_tokens,
        identity_headers: { 'X-User': 'sub' },
        ...more.accessTokens,
      },
      sign_in: { refresh: REFRESH },
      routes: [{ path: '/**', upstream: 'api', ...more.route }],
      limits: await tempText('limits.yaml', 'global: off\n'),
      log: { level: 'trace', access: true },
    },
  });
  await gateway.ready();
  const tokensFrom = async (line: string, body: object): Promise<Tokens> => {
    const answer = await gateway.ask(withBody(`POST ${line}`, JSON.stringify(body)));
    expect([line, answer.status]).toEqual([line, 200]);
    const { accessToken = '', refreshToken = '', idToken = '' } = json(answer) as Partial<Tokens>;
    for (const token of [accessToken, refreshToken, idToken]) secret(token);
    return { accessToken, refreshToken, idToken };
  };
  return {
    gateway,
    upstream,
    async signIn(): Promise<Tokens> {
      // Clients add their state: Ory Hydra wants one, of 8 characters or more.
      const url = `${await authorizeUrl(gateway)}&state=state-of-a-client`;
      const { code } = await walkLogin(url, REDIRECT, 'ada', 'any');
      return tokensFrom('/v1/anonymous/auth', { code: secret(code), redirectUri: REDIRECT });
    },
    refresh: (refreshToken: string) => tokensFrom(REFRESH, { refreshToken }),
    /** The status for a refresh token that is refused. */
    refreshRefused: async (refreshToken: string) =>
      (await gateway.ask(withBody(`POST ${REFRESH}`, JSON.stringify({ refreshToken })))).status,
    /** `200`, or the status and the reason in the log. */
    async ask(token: string): Promise<string> {
      const { status } = await gateway.ask(head('GET /orders', `Authorization: Bearer ${token}`));
      const reason = accessLines(gateway).at(-1)?.['tokenRefused'];
      return reason === undefined ? `${status}` : `${status} ${reason}`;
    },
    /** The warnings about tokens that a sign-in handed out. */
    handedOut: () => gateway.logLines.filter(line => line.includes('this gateway refuses')),
  };
}
