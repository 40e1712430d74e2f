import type { Narrator, StepResponse } from './narrator.ts';

export interface SessionTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Trades the refresh token for new tokens. */
export async function refreshTokens(
  narrator: Narrator,
  gateway: string,
  { accessToken, refreshToken }: SessionTokens,
): Promise<StepResponse> {
  narrator.step('Before the access token expires, the client trades its refresh token for new ones.');
  const url = `${gateway}/v1/users/refresh`;
  const body = JSON.stringify({ refreshToken });
  const response = await narrator.ask({ method: 'POST', url, headers: JSON_TYPE, body }, 200);
  const renewed = response.members.get('accessToken');
  narrator.check('another access token', typeof renewed === 'string' && renewed !== accessToken);
  return response;
}

/** Ends the session, and calls again. */
export async function signOut(
  narrator: Narrator,
  gateway: string,
  { accessToken, refreshToken }: SessionTokens,
): Promise<void> {
  const authorization = { Authorization: `Bearer ${accessToken}` };
  narrator.step('The user signs out.');
  const headers = { ...JSON_TYPE, ...authorization };
  const body = JSON.stringify({ refreshToken });
  await narrator.ask({ method: 'POST', url: `${gateway}/v1/users/sign-out`, headers, body }, 204);

  narrator.step('The access token is refused from now on, although it has not expired.');
  const url = `${gateway}/v1/channels/general/messages`;
  await narrator.ask({ method: 'GET', url, headers: authorization }, 401);
}
