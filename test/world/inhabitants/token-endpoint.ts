import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Draws } from '../kernel/draws.ts';
import type { RefreshToken, SignInCode, Trade, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { CLIENT_SECRET } from './gateway.ts';

const JSON_TYPE = { 'content-type': 'application/json', connection: 'close' };

/** Where the provider trades codes and refresh tokens for tokens, and ends sessions, by its own whims. */
export class TokenEndpoint {
  readonly #world: World;
  readonly #draws: Draws;
  readonly #issue: (draws: Draws, session: string) => WorldToken;

  constructor(world: World, draws: Draws, issue: (draws: Draws, session: string) => WorldToken) {
    this.#world = world;
    this.#draws = draws;
    this.#issue = issue;
  }

  /** A user has signed in: the code that the browser brings back. */
  codeFor(client: string, redirectUri: string, isGood: boolean): SignInCode {
    const { codes } = this.#world;
    const text = this.#secret(`code of ${client} ${codes.length}`);
    const session = `session-${codes.length + 1}`;
    const code: SignInCode = {
      ...{ text, session, client, redirectUri, isGood, sent: 0, arrivals: 0 },
      ...{ token: null, refreshToken: null },
    };
    codes.push(code);
    return code;
  }

  /** @param later does something later if its process lives then */
  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    later: (ms: number, run: () => void) => void,
  ): Promise<void> {
    const form = new URLSearchParams(await text(request).catch(() => ''));
    const { codes, refreshTokens } = this.#world;
    const trade: Trade | undefined =
      request.url === '/revoke'
        ? refreshTokens.find(each => each.text === form.get('token'))?.end
        : (codes.find(each => each.text === form.get('code')) ??
          refreshTokens.find(each => each.text === form.get('refresh_token')));
    if (trade === undefined) {
      // What a broken connection brought is no request.
      if (request.complete) this.#world.wrong('codes', 'the provider got a code of nobody');
      return;
    }
    trade.arrivals++;
    this.#world.history.tell('provider', `gets ${trade.text}, time ${trade.arrivals}`);
    const isOther = 'redirectUri' in trade && form.get('redirect_uri') !== trade.redirectUri;
    if (isOther || !isGateway(request))
      this.#world.wrong('codes', `${trade.text} came otherwise than it was sent`);
    this.#answer(trade, request, response, later);
  }

  #answer(
    trade: Trade,
    { socket }: IncomingMessage,
    response: ServerResponse,
    later: (ms: number, run: () => void) => void,
  ): void {
    const draws = this.#draws.part(`answer to ${trade.text} ${trade.arrivals}`);
    const whim = trade.isGood ? 0 : draws.whole(0, 99);
    if (trade.arrivals > 1 || (whim >= 60 && whim < 70)) {
      response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}');
      return;
    }
    if (whim < 40) this.#grant(trade, response, draws);
    else if (whim < 60) later(draws.between(10, 6_000), () => this.#grant(trade, response, draws));
    else if (whim < 80) {
      response.writeHead(draws.one([500, 503])).end('<p>Something is wrong.</p>');
    } else if (whim < 85) response.writeHead(200, JSON_TYPE).end('{"access_token":null}');
    else if (whim < 90) {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 1_000 }).write('{"access_token":"');
      later(draws.between(1, 500), () => socket.destroy());
    } else if (whim < 95) socket.resetAndDestroy();
    // Else it never answers.
  }

  /** Gives new tokens, a new refresh token among them, or nothing for a session that ends. */
  #grant(trade: Trade, response: ServerResponse, draws: Draws): void {
    if (!('session' in trade)) {
      response.writeHead(200, JSON_TYPE).end();
      return;
    }
    const grant = trade as SignInCode | RefreshToken;
    const token = this.#issue(draws, grant.session);
    grant.token = token;
    grant.refreshToken = this.#refreshTokenOf(grant);
    const members = { access_token: token.text, token_type: 'Bearer', expires_in: 300 };
    response
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify({ ...members, refresh_token: grant.refreshToken.text }));
  }

  #refreshTokenOf({ session, isGood }: SignInCode | RefreshToken): RefreshToken {
    const { refreshTokens } = this.#world;
    const text = this.#secret(`refresh token ${refreshTokens.length}`);
    const token: RefreshToken = {
      ...{ text, session, isGood, sent: 0, arrivals: 0, token: null, refreshToken: null },
      end: { text: `the end of ${text}`, isGood, sent: 0, arrivals: 0 },
    };
    refreshTokens.push(token);
    return token;
  }

  #secret(name: string): string {
    const text = this.#draws.part(name).randomBytes(12).toString('base64url');
    this.#world.secrets.add(text);
    return text;
  }
}

/** Whether the client of the request has shown the gateway's secret. */
function isGateway({ headers }: IncomingMessage): boolean {
  const [, basic = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  return decodeURIComponent(Buffer.from(basic, 'base64').toString()) === `gateway:${CLIENT_SECRET}`;
}
