import { setTimeout as sleep } from 'node:timers/promises';
import { walkLogin } from './login.ts';
import { type NarratedRequest, Narrator, type StepResponse } from './narrator.ts';
import { BOT_CLIENT } from './provider/index.ts';

/** The start of a sign-in, according to the gateway. */
interface Start {
  readonly authorizeUrl: string;
  readonly redirectUri: string;
}

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
}

const ENDPOINT_OF_KEYCLOAK = '/protocol/openid-connect/auth';

/**
 * Walks through what a client can encounter: signing in, calling with tokens, refusals of both, a limit, and signing out. Rejects
 * with an `Error` if it cannot continue.
 *
 * @param gateway the gateway's origin, such as `http://127.0.0.1:8080` @returns whether every response was as expected
 */
export async function walkSignIn(gateway: string): Promise<boolean> {
  const walk = new Walk(gateway, new Narrator());
  const start = await walk.askWhereToSignIn();
  const code = await walk.signIn(start);
  const first = await walk.redeem(start, code);
  await walk.call(first);
  const tokens = await walk.refresh(first);
  await walk.redeemAgain(start, code);
  await walk.redeemForAnotherAddress(start);
  await walk.callAsBot(start);
  await walk.callWithIdToken(tokens);
  await walk.callWithoutToken();
  await walk.runIntoLimit(tokens);
  await walk.signOut(tokens);
  return walk.succeeded;
}

/** The issuer in this authorization URL if it belongs to the demo; else null. */
export function demoIssuer(authorizeUrl: unknown): string | null {
  const url = typeof authorizeUrl === 'string' ? URL.parse(authorizeUrl) : null;
  if (url?.hostname !== '127.0.0.1' || !url.pathname.endsWith(ENDPOINT_OF_KEYCLOAK)) return null;
  return url.origin + url.pathname.slice(0, -ENDPOINT_OF_KEYCLOAK.length);
}

class Walk {
  readonly #gateway: string;
  readonly #narrator: Narrator;

  constructor(gateway: string, narrator: Narrator) {
    this.#gateway = gateway;
    this.#narrator = narrator;
  }

  get succeeded(): boolean {
    return this.#narrator.faults === 0;
  }

  async askWhereToSignIn(): Promise<Start> {
    this.#narrator.step('The client asks where its user can sign in.');
    const url = `${this.#gateway}/v1/anonymous/authorize-url`;
    const authorizeUrl = textOf(await this.#narrator.ask({ method: 'GET', url }, 200), 'url');
    const { searchParams } = new URL(authorizeUrl);
    const names = ['client_id', 'redirect_uri', 'response_type', 'scope'];
    this.#narrator.check(
      `the URL has ${names.join(', ')}`,
      names.every(name => searchParams.has(name)),
    );
    return { authorizeUrl, redirectUri: searchParams.get('redirect_uri') ?? '' };
  }

  async signIn({ authorizeUrl, redirectUri }: Start): Promise<string> {
    this.#narrator.step('A browser opens that URL, and alice signs in at the provider.');
    const { location, code } = await walkLogin(authorizeUrl, redirectUri, 'alice', 'wonderland');
    this.#narrator.say('The provider redirects the browser to');
    this.#narrator.say(location);
    this.#narrator.check('the address has a code', code !== '');
    return code;
  }

  async redeem(start: Start, code: string): Promise<Tokens> {
    this.#narrator.step('The client redeems the code.');
    const response = await this.#redeem(code, start.redirectUri, 200);
    const members = [
      ...['accessToken', 'tokenType', 'expiresIn', 'refreshToken', 'refreshExpiresIn', 'idToken'],
      ...['notBeforePolicy', 'sessionState', 'scope'],
    ];
    const isWhole = members.every(name => response.members.has(name));
    this.#narrator.check('every member of AuthResponse is there', isWhole);
    return tokensIn(response);
  }

  async call({ accessToken }: Tokens): Promise<void> {
    this.#narrator.step('The client calls with the access token.');
    const sent = await this.#narrator.ask({
      method: 'POST',
      url: this.#messages,
      headers: bearer(accessToken),
      body: '{"text":"Hello"}',
    });
    this.#narrator.check('201, answered by the backend', sent.status === 201);

    this.#narrator.step('The backend learns who calls, and sees no header field that the client forged.');
    const echo = await this.#echo({ ...bearer(accessToken), 'X-Auth-Username': 'root' });
    this.#narrator.check('X-Auth-Username: alice', reachedTheBackend(echo, 'X-Auth-Username: alice'));
    this.#narrator.check('no X-Auth-Username: root', !reachedTheBackend(echo, 'X-Auth-Username: root'));
  }

  async refresh({ accessToken, refreshToken }: Tokens): Promise<Tokens> {
    this.#narrator.step('Before the access token expires, the client trades its refresh token for new ones.');
    const response = await this.#post('/v1/users/refresh', { refreshToken }, 200);
    const renewed = response.members.get('accessToken');
    this.#narrator.check('another access token', typeof renewed === 'string' && renewed !== accessToken);
    return tokensIn(response);
  }

  /** Ends the session, and makes another request. */
  async signOut({ accessToken, refreshToken }: Tokens): Promise<void> {
    this.#narrator.step('The user signs out.');
    await this.#post('/v1/users/sign-out', { refreshToken }, 204, bearer(accessToken));

    this.#narrator.step('The access token is refused from now on, although it has not expired.');
    const request = { method: 'GET', url: this.#messages, headers: bearer(accessToken) } as const;
    await this.#narrator.ask(request, 401);
  }

  async redeemAgain(start: Start, code: string): Promise<void> {
    this.#narrator.step('The client redeems the same code again.');
    this.#checkCodeRefused(await this.#redeem(code, start.redirectUri, 400));
  }

  async redeemForAnotherAddress(start: Start): Promise<void> {
    this.#narrator.step(
      'The user signs in again, but the client redeems the code with a redirect URI that is one character longer.',
    );
    const { code } = await walkLogin(start.authorizeUrl, start.redirectUri, 'alice', 'wonderland');
    this.#checkCodeRefused(await this.#redeem(code, `${start.redirectUri}/`, 400));
  }

  async callAsBot(start: Start): Promise<void> {
    this.#narrator.step('A bot gets its token from the provider with its own id and secret.');
    const issuer = demoIssuer(start.authorizeUrl) ?? '';
    const credentials = Buffer.from(`${BOT_CLIENT.id}:${BOT_CLIENT.secret}`).toString('base64');
    const url = `${issuer}/protocol/openid-connect/token`;
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const headers = { Authorization: `Basic ${credentials}`, ...type };
    const body = 'grant_type=client_credentials';
    const granted = await this.#narrator.ask({ method: 'POST', url, headers, body }, 200);

    this.#narrator.step('The bot calls.');
    const echo = await this.#echo(bearer(textOf(granted, 'access_token')));
    const field = `X-Auth-Client: ${BOT_CLIENT.id}`;
    this.#narrator.check(field, reachedTheBackend(echo, field));
  }

  async callWithIdToken({ idToken }: Tokens): Promise<void> {
    this.#narrator.step('A client calls with its ID token, which the provider signed with the same key.');
    await this.#callInVain(bearer(idToken), 'Bearer error="invalid_token"');
  }

  async callWithoutToken(): Promise<void> {
    this.#narrator.step('A client calls without a token.');
    await this.#callInVain({}, 'Bearer');
  }

  runIntoLimit({ accessToken }: Tokens): Promise<void> {
    return walkIntoLimit(this.#narrator, {
      method: 'POST',
      url: `${this.#gateway}/v1/channels/busy/messages`,
      headers: bearer(accessToken),
      body: '{"text":"Hello again"}',
    });
  }

  get #messages(): string {
    return `${this.#gateway}/v1/channels/general/messages`;
  }

  #redeem(code: string, redirectUri: string, expected: number): Promise<StepResponse> {
    return this.#post('/v1/anonymous/auth', { code, redirectUri }, expected);
  }

  #post(path: string, body: object, expected: number, more = {}): Promise<StepResponse> {
    const headers = { 'Content-Type': 'application/json', ...more };
    const url = `${this.#gateway}${path}`;
    return this.#narrator.ask({ method: 'POST', url, headers, body: JSON.stringify(body) }, expected);
  }

  #echo(headers: Readonly<Record<string, string>>): Promise<StepResponse> {
    return this.#narrator.ask({ method: 'GET', url: `${this.#gateway}/v1/echo`, headers }, 200);
  }

  #checkCodeRefused(response: StepResponse): void {
    this.#narrator.check('the error object with code 3', response.members.get('code') === 3);
  }

  async #callInVain(headers: Readonly<Record<string, string>>, challenge: string): Promise<void> {
    const response = await this.#narrator.ask({ method: 'GET', url: this.#messages, headers }, 401);
    this.#narrator.check('the error object with code 16', response.members.get('code') === 16);
    const isChallenged = response.headers.get('www-authenticate') === challenge;
    this.#narrator.check(`WWW-Authenticate: ${challenge}`, isChallenged);
  }
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

function tokensIn(response: StepResponse): Tokens {
  return {
    accessToken: textOf(response, 'accessToken'),
    refreshToken: textOf(response, 'refreshToken'),
    idToken: textOf(response, 'idToken'),
  };
}

/** A member that the walk needs. Throws if it is missing. */
function textOf({ status, members }: StepResponse, name: string): string {
  const value = members.get(name);
  if (typeof value === 'string') return value;
  throw new Error(`cannot go on: the response ${status} has no "${name}"`);
}

function reachedTheBackend({ members }: StepResponse, field: string): boolean {
  const headers = members.get('headers');
  return Array.isArray(headers) && headers.includes(field);
}

/** Maximum attempts: the demo's limits.yaml allows three messages to a channel in five seconds. */
const MAX = 10;
const BUCKET_FIELDS = ['limit', 'remaining', 'reset', 'reset-after', 'bucket', 'scope'];

/** Sends a request until it is refused, waits as long as the response says, and sends it again. */
async function walkIntoLimit(narrator: Narrator, step: NarratedRequest): Promise<void> {
  narrator.step('The user keeps writing to another channel until the gateway refuses.');
  let response = await narrator.ask(step);
  narrator.check(
    '201, with the six X-RateLimit headers of the limit',
    response.status === 201 && hasBucket(response),
  );
  const limit = response.headers.get('x-ratelimit-limit');
  const bucket = response.headers.get('x-ratelimit-bucket');
  let admitted = 0;
  while (response.status === 201 && admitted < MAX) {
    admitted += 1;
    response = await narrator.ask(step);
  }
  const waitS = Number(response.members.get('retry_after'));
  narrator.check(
    `429 after ${limit} messages, as X-RateLimit-Limit says`,
    response.status === 429 && `${admitted}` === limit,
  );
  narrator.check(
    'the same bucket',
    hasBucket(response) && response.headers.get('x-ratelimit-bucket') === bucket,
  );
  narrator.check('retry_after in the body, and Retry-After rounded up from it', hasWait(response, waitS));

  narrator.step(`The client waits for the ${waitS} seconds that the response asks for, then writes again.`);
  await sleep(waitS * 1_000);
  await narrator.ask(step, 201);
}

function hasBucket({ headers }: StepResponse): boolean {
  return BUCKET_FIELDS.every(name => headers.has(`x-ratelimit-${name}`));
}

function hasWait({ headers }: StepResponse, waitS: number): boolean {
  return waitS > 0 && headers.get('retry-after') === `${Math.ceil(waitS)}`;
}
