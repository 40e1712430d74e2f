import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Draws } from '../kernel/draws.ts';
import type { SignInCode, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { CLIENT_SECRET } from './gateway.ts';

const JSON_TYPE = { 'content-type': 'application/json', connection: 'close' };

/** Where the provider trades codes for tokens, by its own whims. */
export class TokenEndpoint {
  readonly #world: World;
  readonly #draws: Draws;
  readonly #issue: (draws: Draws) => WorldToken;

  constructor(world: World, draws: Draws, issue: (draws: Draws) => WorldToken) {
    this.#world = world;
    this.#draws = draws;
    this.#issue = issue;
  }

  /** A user has signed in: the code that the browser brings back. */
  codeFor(client: string, redirectUri: string, isGood: boolean): SignInCode {
    const { codes, secrets } = this.#world;
    const draws = this.#draws.part(`code of ${client} ${codes.length}`);
    const text = draws.randomBytes(12).toString('base64url');
    const code: SignInCode = { text, client, redirectUri, isGood, sent: 0, arrivals: 0, token: null };
    codes.push(code);
    secrets.add(text);
    return code;
  }

  /** @param later does something later if its process lives then */
  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    later: (ms: number, run: () => void) => void,
  ): Promise<void> {
    const form = new URLSearchParams(await text(request).catch(() => ''));
    const code = this.#world.codes.find(each => each.text === form.get('code'));
    if (code === undefined) {
      // What a broken connection brought is no request.
      if (request.complete) this.#world.wrong('codes', 'the provider got a code of nobody');
      return;
    }
    code.arrivals++;
    this.#world.history.tell('provider', `gets the code ${code.text}, time ${code.arrivals}`);
    if (form.get('redirect_uri') !== code.redirectUri || !isGateway(request))
      this.#world.wrong('codes', `the code ${code.text} came otherwise than it was sent`);
    this.#answer(code, request, response, later);
  }

  #answer(
    code: SignInCode,
    { socket }: IncomingMessage,
    response: ServerResponse,
    later: (ms: number, run: () => void) => void,
  ): void {
    const draws = this.#draws.part(`answer to ${code.text} ${code.arrivals}`);
    const whim = code.isGood ? 0 : draws.whole(0, 99);
    if (code.arrivals > 1 || (whim >= 60 && whim < 70)) {
      response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}');
      return;
    }
    if (whim < 40) this.#grant(code, response, draws);
    else if (whim < 60) later(draws.between(10, 6_000), () => this.#grant(code, response, draws));
    else if (whim < 80) {
      response.writeHead(draws.one([500, 503])).end('<p>Something is wrong.</p>');
    } else if (whim < 85) response.writeHead(200, JSON_TYPE).end('{"access_token":null}');
    else if (whim < 90) {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 1_000 }).write('{"access_token":"');
      later(draws.between(1, 500), () => socket.destroy());
    } else if (whim < 95) socket.resetAndDestroy();
    // Else it never answers.
  }

  #grant(code: SignInCode, response: ServerResponse, draws: Draws): void {
    const token = this.#issue(draws);
    code.token = token;
    const members = { access_token: token.text, token_type: 'Bearer', expires_in: 300 };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(members));
  }
}

/** Whether the client of the request has shown the gateway's secret. */
function isGateway({ headers }: IncomingMessage): boolean {
  const [, basic = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  return decodeURIComponent(Buffer.from(basic, 'base64').toString()) === `gateway:${CLIENT_SECRET}`;
}
