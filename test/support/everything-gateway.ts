import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestAuthority } from './certificates.ts';
import { freePort } from './free-port.ts';
import { type LocalGateway, startGateway } from './gateway.ts';
import { identityConfig } from './identity-gateway.ts';
import { PUSH_PATH, pushOf, toAdmin } from './notices.ts';
import { type Sample, samplesIn } from './promql.ts';
import { head } from './requests.ts';
import { scripts } from './scripted-provider.ts';
import { redeem } from './sign-in-client.ts';
import { tempFolder } from './temp.ts';
import { clockOfTests, inTime } from './test-clock.ts';
import { startIssuer, type TestIssuer } from './test-issuer.ts';
import { waitFor } from './wait.ts';
import { startUpstream } from './wire/index.ts';

/** What a gateway with every part shows after traffic with an error of each side. Its Redis is not there. */
export async function shownMetrics(): Promise<string> {
  const gateway = await startWithEverything();
  await failOnEverySide(gateway);
  return (await gateway.admin('/metrics')).text;
}

export async function shownSamples(): Promise<readonly Sample[]> {
  return samplesIn(await shownMetrics());
}

async function startWithEverything(): Promise<LocalGateway> {
  const issuer = await startIssuer();
  issuer.provider.token = scripts.html(500);
  const partners = await startIssuer();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    // Asked for /slow, it keeps a place until its client leaves.
    if (exchange.request.target !== '/slow') await exchange.answer(200, [], 'ok');
  });
  const url = (port: number) => ({ url: `http://127.0.0.1:${port}` });
  const limits = {
    buckets: {
      things: { main: 'id', user: '5/5s', resource: '50/5s' },
      priced: { address: { limit: '99/1h', unit: 'cost' } },
    },
    routes: {
      'GET /things/{id}': 'things',
      'GET /priced': { bucket: 'priced', cost: { response_field: 'X-Usage', most: 9 } },
    },
  };
  const provider = { notices: { not_before_push: 'admin', back_channel_logout: '/idp/logout' } };
  const settings = await identityConfig({ issuer: issuer.url, limits, provider }, upstream);
  const { identity_provider, access_tokens: _, ...config } = settings.config ?? {};
  const main = { name: 'main', audience: 'api', ...Object(identity_provider) };
  // It looks a moment after it has taken the folder of its state whether another one has as well.
  const clock = clockOfTests();
  const starting = startGateway({
    ...settings,
    clock,
    config: {
      ...config,
      identity_providers: [
        main,
        {
          ...main,
          name: 'partners',
          issuer: partners.url,
          redirect_uri: undefined,
          scope: undefined,
          notices: undefined,
        },
      ],
      listen: {
        http: { address: '127.0.0.1:0', h2c: true },
        grpc: { address: '127.0.0.1:0', tls: { certificates: [await writeCertificate()] } },
        admin: '127.0.0.1:0',
      },
      upstreams: {
        api: url(upstream.port),
        dead: url(await freePort()),
        calls: { ...url(await freePort()), protocol: 'grpc' },
      },
      routes: [
        { path: '/**', upstream: 'api', authentication: 'none', websocket: true },
        { path: '/mine', upstream: 'api', introspection: true },
        { path: '/dead', upstream: 'dead', authentication: 'none' },
        { grpc: 'a.B/*', upstream: 'calls' },
      ],
      store: { redis: `redis://127.0.0.1:${await freePort()}`, on_failure: 'closed' },
      state: await tempFolder(),
      sign_in: { refresh: '/refresh', sign_out: '/sign-out' },
      caps: { requests: 1, event_loop_delay: '1s' },
      workers: 2,
      metrics: { route_durations: true },
    },
  });
  const gateway = await inTime(clock, starting);
  await writeState(gateway, issuer);
  return gateway;
}

/** Tells the gateway a fact that it has to keep, and waits until its file has it. */
async function writeState(gateway: LocalGateway, issuer: TestIssuer): Promise<void> {
  const { status } = await toAdmin(gateway, PUSH_PATH, pushOf(issuer, Math.floor(Date.now() / 1_000) - 30));
  if (status !== 204) throw new Error(`the push was answered with ${status}`);
  const isWritten = async () => (await gateway.metric('weir_state_written_timestamp_seconds')).size > 0;
  await gateway.time.advanceUntil('the state is written', isWritten);
}

async function writeCertificate() {
  const folder = await tempFolder();
  const { certificate, key } = new TestAuthority().forHosts('localhost');
  const files = { certificate_file: join(folder, 'a.crt'), key_file: join(folder, 'a.key') };
  await writeFile(files.certificate_file, certificate);
  await writeFile(files.key_file, key);
  return files;
}

async function failOnEverySide(gateway: LocalGateway): Promise<void> {
  for (const target of ['GET /open', 'GET /mine', 'GET /dead', 'GET /things/1'])
    await gateway.ask(head(target));
  await redeem(gateway, 'a-code-of-a-test', 'https://app.example/callback');
  const slow = await gateway.connect();
  await slow.send(head('GET /slow'));
  const inFlight = async () => (await gateway.metric('weir_requests_in_flight')).get('') === 1;
  await waitFor('a request is in flight', inFlight);
  await gateway.ask(head('GET /open'));
  slow.destroy();
  const errors = await gateway.metric('weir_errors_total');
  for (const side of ['client', 'gateway', 'upstream', 'provider', 'store']) {
    const counts = [...errors]
      .filter(([labels]) => labels.includes(`side="${side}"`))
      .map(([, count]) => count);
    if (Math.max(...counts) < 1) throw new Error(`no error of the side ${side}`);
  }
}
