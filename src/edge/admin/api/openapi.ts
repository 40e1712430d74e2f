import { z } from 'zod';
import { type OwnRoute, type SignInEndpoint, type Snapshot, signInProvider } from '../../../config/index.ts';
import { readVersion, STATUS_CODES } from '../../../core/index.ts';
import type { SignInOptions } from '../../../identity/signin/index.ts';
import { configSchema } from './explain-api.ts';
import { refusedSchema } from './refused-api.ts';
import * as shapes from './shapes.ts';
import { upstreamsStatusSchema } from './upstreams-api.ts';

export function openApiDocument({ outline: { ownRoutes }, identity }: Snapshot): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Weir',
      version: readVersion(),
      description: 'The admin API of the gateway, and its sign-in endpoints. See docs/admin-api.md.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The admin listener, listen.admin.' }],
    security: [{ token: [] }],
    paths: { ...ADMIN_PATHS, ...signInPathItems(signInProvider(identity)?.signIn ?? null, ownRoutes) },
    components: {
      schemas: schemas(),
      securitySchemes: {
        accessToken: { type: 'http', scheme: 'bearer', description: 'An access token of the provider.' },
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of listen.admin.token_file. Reading on loopback needs none.',
        },
      },
    },
  };
}

/** The operations of each path by method. GET changes nothing. */
export const ADMIN_PATHS = {
  '/api/buckets': {
    get: {
      operationId: 'readBuckets',
      summary: 'Shows what a client has left of each limit, without consuming any.',
      parameters: parametersOf(shapes.bucketsSchema),
      responses: { 200: json('What is left.', 'Buckets'), ...errors(400, 401, 403, 404, 429, 503) },
    },
    delete: {
      operationId: 'resetBuckets',
      summary:
        'Gives a client a fresh allowance, at all gateways that share the limits. Without a client: the shared count of one value.',
      parameters: parametersOf(shapes.bucketsSchema),
      responses: { 200: json('What was reset.', 'BucketsReset'), ...errors(400, 401, 403, 404, 429, 503) },
    },
  },
  '/api/config': {
    get: {
      operationId: 'showConfig',
      summary: 'Shows the configuration that serves, with all defaults and without secrets.',
      responses: { 200: json('The configuration.', 'Config'), ...errors(401, 403, 429) },
    },
  },
  '/api/explain': {
    get: {
      operationId: 'explainRequest',
      summary: 'Shows what the gateway would do with a request, and why. Sends nothing.',
      parameters: parametersOf(shapes.explainSchema),
      responses: { 200: json('The explanation.', 'Explanation'), ...errors(400, 401, 403, 429) },
    },
  },
  '/api/refused': {
    get: {
      operationId: 'listRefused',
      summary: 'Lists the networks of which several addresses were refused within the last hour.',
      responses: { 200: json('The networks.', 'Refused'), ...errors(401, 403, 429) },
    },
  },
  '/api/restrictions': {
    get: {
      operationId: 'listRestrictions',
      summary: 'Lists the restrictions in force, all or those of one client.',
      parameters: parametersOf(shapes.listSchema),
      responses: { 200: json('The restrictions.', 'Restrictions'), ...errors(400, 401, 403, 429) },
    },
    post: {
      operationId: 'addRestriction',
      summary:
        'Refuses everything from a client for a while, at all gateways. Never shortens a restriction that lasts longer.',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/NewRestriction' } } },
      },
      responses: {
        201: json('The restriction now in force.', 'Restriction'),
        ...errors(400, 401, 403, 409, 413, 415, 429),
      },
    },
  },
  '/api/restrictions/{id}': {
    delete: {
      operationId: 'liftRestriction',
      summary: 'Lifts a restriction, at all gateways. The client begins with a clean record.',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: { 204: { description: 'Lifted.' }, ...errors(401, 403, 404, 429) },
    },
  },
  '/api/upstreams': {
    get: {
      operationId: 'listUpstreams',
      summary: 'Lists the endpoints of each upstream, and why one gets no requests.',
      responses: { 200: json('The upstreams.', 'Upstreams'), ...errors(401, 403, 429) },
    },
  },
} as const;

type Operations<Path> = Path extends Readonly<Record<string, infer Each>> ? Each : never;
export type Operation = Operations<(typeof ADMIN_PATHS)[keyof typeof ADMIN_PATHS]>;

function parametersOf(schema: z.ZodType): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(properties).map(([name, part]) => {
    const { description, ...rest } = typeof part === 'object' ? part : {};
    const isMap = rest.type === 'object';
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description !== undefined && { description }),
      ...(isMap && { style: 'deepObject', explode: true }),
      schema: rest,
    };
  });
}

function schemas(): object {
  const registry = z.registry<{ id: string }>();
  registry.add(shapes.errorSchema, { id: 'Error' });
  registry.add(shapes.bucketsReadSchema, { id: 'Buckets' });
  registry.add(shapes.bucketsResetSchema, { id: 'BucketsReset' });
  registry.add(configSchema, { id: 'Config' });
  registry.add(shapes.explanationSchema, { id: 'Explanation' });
  registry.add(refusedSchema, { id: 'Refused' });
  registry.add(shapes.restrictionSchema, { id: 'Restriction' });
  registry.add(shapes.restrictionsSchema, { id: 'Restrictions' });
  registry.add(shapes.newRestrictionSchema, { id: 'NewRestriction' });
  registry.add(upstreamsStatusSchema, { id: 'Upstreams' });
  const made = z.toJSONSchema(registry, { uri: id => `#/components/schemas/${id}`, io: 'input' });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([id, { $id, $schema, ...schema }]) => [id, schema]),
  );
}

type PathItems = Readonly<Record<string, object>>;

function json(description: string, schema: string): object {
  return {
    description,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  };
}

function errors(...statuses: readonly number[]): object {
  return Object.fromEntries(
    statuses.map(status => [String(status), json(`${STATUS_CODES[status] ?? ''}.`, 'Error')]),
  );
}

/** The servers of the sign-in endpoints: the listener for clients, not the admin listener. */
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
function signInPathItems(
  options: Pick<SignInOptions, 'authorizationParameters'> | null,
  routes: readonly { readonly value: OwnRoute }[],
): PathItems {
  if (options === null) return {};
  const { allow } = options.authorizationParameters;
  const signIn = routes.map(({ value }) => value).filter(value => value.kind === 'sign-in');
  return Object.fromEntries(signIn.map(({ id, endpoint }) => [id, itemOf(endpoint, allow)]));
}

function itemOf(endpoint: SignInEndpoint, allow: readonly string[]): object {
  if (endpoint !== 'authorize-url' || allow.length === 0) return ITEMS[endpoint];
  return { ...ITEMS[endpoint], parameters: allow.map(name => ({ name, in: 'query', schema: text })) };
}

const url = { type: 'object', required: ['url'], properties: { url: { type: 'string', format: 'uri' } } };

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
          content: { 'application/json': { schema: url } },
        },
        ...errors(429, 503),
      },
    },
  },
  auth: taking(['code', 'redirectUri'], ['codeVerifier'], {
    operationId: 'redeemCode',
    summary: 'Exchanges an authorization code for tokens.',
    security: [],
    responses: { 200: tokens(), ...errors(400, 408, 413, 415, 429, 500, 503, 504) },
  }),
  refresh: taking(['refreshToken'], [], {
    operationId: 'refreshTokens',
    summary: 'Exchanges a refresh token for new tokens.',
    security: [],
    responses: { 200: tokens(), ...errors(400, 401, 408, 413, 415, 429, 500, 503, 504) },
  }),
  'sign-out': taking(['refreshToken'], [], {
    operationId: 'signOut',
    summary: 'Refuses the tokens of the session from now on, and ends its refresh token at the provider.',
    security: [{ accessToken: [] }],
    responses: {
      204: { description: 'Both are done.' },
      ...errors(400, 401, 408, 413, 415, 429, 500, 503, 504),
    },
  }),
};

/** Makes a POST whose body is an object with these texts. */
function taking(required: readonly string[], optional: readonly string[], operation: object): object {
  const properties = Object.fromEntries([...required, ...optional].map(name => [name, text]));
  const schema = { type: 'object', required, properties };
  const requestBody = { required: true, content: { 'application/json': { schema } } };
  return { servers, post: { ...operation, requestBody } };
}

/** docs/contract.md, 1.4. */
function tokens(): object {
  const schema = {
    type: 'object',
    required: ['accessToken', 'tokenType', 'notBeforePolicy', 'scope'],
    properties: {
      accessToken: text,
      tokenType: { enum: ['Bearer', 'DPoP'] },
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
