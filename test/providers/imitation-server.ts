import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { TestAuthority } from '../support/certificates.ts';
import { atEnd } from '../support/lifetime.ts';
import { secret } from '../support/secrets.ts';
import { type IssuerKey, issuerKey, signToken } from '../support/token-issuer.ts';
import type { Imitation } from './imitations/index.ts';

type Answer = { readonly status: number; readonly body: unknown };

/** One server for all imitations, which takes every host name, and the proxy that leads there. */
export interface ImitationServer {
  readonly proxy: string;
  /** PEM. */
  readonly ca: string;
  /** The body of each token request. */
  readonly tokenRequests: readonly URLSearchParams[];
  /** What the token endpoint answers next. */
  token: Answer;
  tokenOf(claims: object, header: object): string;
}

const authority = new TestAuthority();

export async function imitate(imitation: Imitation): Promise<ImitationServer> {
  const { discovery, keySetUrl, tokenUrl, introspectionUrl } = imitation;
  const opaque = new Map<string, object>();
  const key: IssuerKey = issuerKey('RS256', 'imitated');
  const tokenRequests: URLSearchParams[] = [];
  const answerTo = async (url: string, request: IncomingMessage): Promise<Answer> => {
    if (url === discovery?.url) return { status: 200, body: discovery.document };
    const { keySetType = '' } = imitation;
    if (url === keySetUrl && !request.headers.accept?.includes(keySetType)) return { status: 406, body: {} };
    if (url === keySetUrl) return { status: 200, body: { keys: [{ ...key.jwk, ...imitation.key }] } };
    if (url !== tokenUrl && url !== introspectionUrl) return { status: 404, body: {} };
    const form = new URLSearchParams(await text(request));
    if (url === introspectionUrl)
      return { status: 200, body: opaque.get(form.get('token') ?? '') ?? { active: false } };
    tokenRequests.push(form);
    const refusal = refuseAssertion(form, imitation);
    const { resource = null } = imitation;
    const opaqueToken = { ...(server.token.body as object), access_token: secret('imitated-opaque-token') };
    if (resource !== null && form.get('resource') !== resource && server.token.status === 200)
      return { status: 200, body: opaqueToken };
    return refusal ?? server.token;
  };
  const serve = (scheme: string) => async (request: IncomingMessage, response: ServerResponse) => {
    const { url = '', headers } = request;
    const { status, body } = await answerTo(
      url.startsWith('/') ? `${scheme}://${headers.host}${url}` : url,
      request,
    );
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const hosts = [discovery?.url, keySetUrl, tokenUrl].flatMap(url =>
    url === undefined ? [] : [new URL(url).hostname],
  );
  const { certificate, key: tlsKey } = authority.forHosts(...new Set(hosts));
  const secure = createHttpsServer({ cert: certificate, key: tlsKey }, serve('https'));
  const proxy = createServer(serve('http'));
  await Promise.all(
    [secure, proxy].map(each => new Promise<void>(done => each.listen(0, '127.0.0.1', done))),
  );
  const portOf = (each: typeof proxy) => (each.address() as AddressInfo).port;
  proxy.on('connect', (_request: IncomingMessage, client: Socket) => {
    const inner = connect(portOf(secure as unknown as typeof proxy), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      inner.pipe(client).pipe(inner);
    });
    for (const socket of [inner, client])
      socket.on('error', () => [inner, client].map(each => each.destroy()));
    atEnd(() => void inner.destroy());
  });
  atEnd(() => {
    for (const each of [secure, proxy]) {
      each.close();
      each.closeAllConnections();
    }
  });
  const server: ImitationServer = {
    ...{ proxy: `http://127.0.0.1:${portOf(proxy)}`, ca: authority.certificate, tokenRequests },
    token: { status: 200, body: {} },
    tokenOf(claims, header) {
      const iat = Math.floor(Date.now() / 1_000);
      const all = { iat, exp: iat + 300, ...claims };
      if (introspectionUrl === undefined) return secret(signToken(key, all, { typ: undefined, ...header }));
      const token = secret(`opaque_${randomBytes(16).toString('base64url')}`);
      opaque.set(token, { active: true, ...all });
      return token;
    },
  };
  return server;
}

/** Refuses an assertion for another audience, as Okta and Entra ID do. */
function refuseAssertion(form: URLSearchParams, { assertionAudience }: Imitation): Answer | null {
  if (assertionAudience === undefined) return null;
  const [, payload = ''] = (form.get('client_assertion') ?? '').split('.');
  const { aud } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}');
  return aud === assertionAudience ? null : { status: 401, body: { error: 'invalid_client' } };
}
