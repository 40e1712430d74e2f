import type { OwnRoute, SignInEndpoint } from '../../config/index.ts';
import { errors, type PathItems } from './openapi-parts.ts';

/** They are served where clients connect, not by the admin listener. */
const servers = [
  {
    url: 'http://{host}',
    description: 'Where clients connect, listen.http; https where that has TLS.',
    variables: { host: { default: 'localhost:8080' } },
  },
];

const text = { type: 'string' };
const seconds = { type: 'integer', minimum: 0 };

/** The sign-in endpoints that the configuration has (docs/contract.md, 1). */
export function signInPathItems(routes: readonly { readonly value: OwnRoute }[]): PathItems {
  const signIn = routes.map(({ value }) => value).filter(value => value.kind === 'sign-in');
  return Object.fromEntries(signIn.map(({ id, endpoint }) => [id, ITEMS[endpoint]]));
}

const ITEMS: Readonly<Record<SignInEndpoint, object>> = {
  'authorize-url': {
    servers,
    get: {
      operationId: 'authorizeUrl',
      summary: 'Returns the URL of the login page.',
      security: [],
      responses: {
        200: {
          description: 'The URL, the same for everyone.',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['url'],
                properties: { url: { type: 'string', format: 'uri' } },
              },
            },
          },
        },
        ...errors(429, 503),
      },
    },
  },
  auth: {
    servers,
    post: {
      operationId: 'redeemCode',
      summary: 'Trades an authorization code for tokens.',
      security: [],
      requestBody: bodyOf(['code', 'redirectUri'], { code: text, redirectUri: text, codeVerifier: text }),
      responses: { 200: tokens(), ...errors(400, 408, 413, 415, 429, 500, 503, 504) },
    },
  },
  refresh: {
    servers,
    post: {
      operationId: 'refreshTokens',
      summary: 'Trades a refresh token for new tokens.',
      security: [],
      requestBody: bodyOf(['refreshToken'], { refreshToken: text }),
      responses: { 200: tokens(), ...errors(400, 401, 408, 413, 415, 429, 500, 503, 504) },
    },
  },
  'sign-out': {
    servers,
    post: {
      operationId: 'signOut',
      summary: 'Refuses the tokens of the session from now on, and ends its refresh token at the provider.',
      security: [{ accessToken: [] }],
      requestBody: bodyOf(['refreshToken'], { refreshToken: text }),
      responses: {
        204: { description: 'Both are done.' },
        ...errors(400, 401, 408, 413, 415, 429, 500, 503, 504),
      },
    },
  },
};

function bodyOf(required: readonly string[], properties: object): object {
  const schema = { type: 'object', required, properties };
  return { required: true, content: { 'application/json': { schema } } };
}

/** docs/contract.md, 1.4. */
function tokens(): object {
  const schema = {
    type: 'object',
    required: ['accessToken', 'tokenType', 'notBeforePolicy', 'scope'],
    properties: {
      accessToken: text,
      tokenType: { const: 'Bearer' },
      expiresIn: seconds,
      refreshToken: text,
      refreshExpiresIn: seconds,
      idToken: text,
      notBeforePolicy: seconds,
      sessionState: text,
      scope: text,
    },
  };
  return { description: 'The tokens.', content: { 'application/json': { schema } } };
}
