import { inspect } from 'node:util';
import { genericGrantRequest, tokenIntrospection } from 'openid-client';
import { expect, onTestFinished, test } from 'vitest';
import { thisMachine } from '../../../../src/core/index.ts';
import { ProviderFault } from '../../../../src/identity/signin/ask-provider.ts';
import { ProviderClient } from '../../../../src/identity/signin/client-request.ts';
import { Provider, type ProviderMetadata } from '../../../../src/identity/signin/provider.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';
import { scripts, startScriptedProvider } from '../../../support/scripted-provider.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const SECRET = 's3cret-of-the-gateway';

async function open() {
  const scripted = await startScriptedProvider();
  onTestFinished(() => scripted.close());
  const { issuer } = scripted;
  const metadata: ProviderMetadata = {
    issuer,
    authorizationEndpoint: null,
    tokenEndpoint: `${issuer}/token`,
    keySetUrl: `${issuer}/keys`,
    revocationEndpoint: null,
    endSessionEndpoint: null,
    introspectionEndpoint: `${issuer}/introspect`,
  };
  const clock = new FrozenClock();
  const parts = {
    ...thisMachine,
    clock,
    listener: { discovered: () => {} },
    random: () => 0,
    known: metadata,
  };
  const provider = new Provider({ ...PROVIDER_OPTIONS, issuer }, parts);
  const clientAuthentication = { kind: 'client_secret_post', secret: SECRET } as const;
  const client = new ProviderClient({ clientId: 'gateway', clientAuthentication }, provider);
  const introspect = (read: (body: Buffer) => Response) =>
    client.ask(
      {
        endpoint: 'introspection endpoint',
        url: metadata.introspectionEndpoint,
        successes: [200],
        secrets: ['the-token'],
        send: configuration => tokenIntrospection(configuration, 'the-token'),
        read: ({ body }) => read(body),
      },
      metadata,
    );
  return { scripted, client, metadata, introspect };
}

const failureIn = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it was no failure'),
    (error: unknown) => error,
  );
const everythingIn = (error: unknown) => inspect(error, { depth: 20, showHidden: true });

test('a response that the library cannot use is nonsense, and nothing of it is kept', async () => {
  const { scripted, introspect } = await open();
  scripted.introspection = scripts.json(200, { active: 'yes', username: 'jane.doe' });
  const error = await failureIn(introspect(body => new Response(new Uint8Array(body))));
  expect(error).toMatchObject({
    kind: 'nonsense',
    message: 'the response of the introspection endpoint cannot be used: OAUTH_INVALID_RESPONSE',
  });
  expect(everythingIn(error)).not.toMatch(/jane|the-token|s3cret/);
});

test('a refusal is judged by its bytes, and the secrets of the request and of the gateway are cut out', async () => {
  const { scripted, introspect } = await open();
  const said = { error: 'invalid_client', error_description: `no ${SECRET} for the-token here` };
  scripted.introspection = scripts.json(401, said);
  const error = await failureIn(introspect(() => expect.fail('no success')));
  expect(error).toMatchObject({ kind: 'refused', status: 401, error: 'invalid_client' });
  expect(everythingIn(error)).not.toMatch(/the-token|s3cret/);
});

test('a second request is prevented: a code can be redeemed once', async () => {
  const { scripted, client, metadata } = await open();
  const send = async (configuration: Parameters<typeof genericGrantRequest>[0]) => {
    await genericGrantRequest(configuration, 'authorization_code', { code: 'c' });
    await genericGrantRequest(configuration, 'authorization_code', { code: 'c' });
  };
  const read = () => Response.json({ access_token: 'a', token_type: 'Bearer' });
  const request = {
    endpoint: 'token endpoint',
    url: metadata.tokenEndpoint,
    successes: [200],
    secrets: [],
    send,
    read,
  };
  expect(await failureIn(client.ask(request, metadata))).toBeInstanceOf(ProviderFault);
  expect(scripted.tokenRequests).toHaveLength(1);
});

test('an error before anything is sent is a fault of the gateway, without its words', async () => {
  const { client, metadata } = await open();
  const send = () => Promise.reject(new TypeError(`bad ${SECRET}`));
  const read = () => new Response();
  const request = {
    endpoint: 'token endpoint',
    url: metadata.tokenEndpoint,
    successes: [200],
    secrets: [],
    send,
    read,
  };
  const error = await failureIn(client.ask(request, metadata));
  expect(error).not.toBeInstanceOf(ProviderFault);
  expect(everythingIn(error)).not.toMatch(/s3cret/);
});
