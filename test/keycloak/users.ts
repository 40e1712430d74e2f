import { expect } from 'vitest';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import type { Response } from '../support/wire/index.ts';
import { REDIRECT_URI } from './realm.ts';

/** What the contract calls AuthResponse, as far as tests read it. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
  readonly sessionState: string;
}

/** Signs in by Keycloak's form and redeems the code at this gateway. The tokens are secrets from now on. */
export async function signIn(
  gateway: TestGateway,
  username = 'alice',
  password = 'wonderland',
): Promise<Tokens> {
  return tokensIn(
    await redeem(gateway, await codeFor(gateway, REDIRECT_URI, username, password), REDIRECT_URI),
  );
}

/** The tokens of a good response. They are secrets from now on. */
export function tokensIn(response: Response): Tokens {
  expect(response.status, response.body.toString()).toBe(200);
  const members = json(response);
  const text = (name: string) =>
    typeof members[name] === 'string' ? members[name] : expect.fail(`no ${name}`);
  return {
    accessToken: secret(text('accessToken')),
    refreshToken: secret(text('refreshToken')),
    idToken: secret(text('idToken')),
    sessionState: text('sessionState'),
  };
}

/** Calls the API with this token. */
export function call(gateway: TestGateway, token: string, path = '/things'): Promise<Response> {
  return gateway.ask(head(`GET ${path}`, `Authorization: Bearer ${token}`));
}
