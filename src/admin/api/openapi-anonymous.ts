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

/** The two anonymous endpoints (docs/contract.md, 1). */
export const ANONYMOUS_PATHS: PathItems = {
  '/v1/anonymous/authorize-url': {
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
  '/v1/anonymous/auth': {
    servers,
    post: {
      operationId: 'redeemCode',
      summary: 'Trades an authorization code for tokens.',
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['code', 'redirectUri'],
              properties: { code: text, redirectUri: text, codeVerifier: text },
            },
          },
        },
      },
      responses: {
        200: {
          description: 'The tokens.',
          content: { 'application/json': { schema: tokens() } },
        },
        ...errors(400, 408, 413, 415, 429, 500, 503, 504),
      },
    },
  },
};

/** docs/contract.md, 1.4. */
function tokens(): object {
  return {
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
}
