import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { type ConfigPart, startGateway, writeGatewayConfig } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { startUpstream, values } from '../support/wire/index.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${ID}-b7ad6b7169203331-01`;
const ASKED = head('GET /v1/things/secret-7?key=secret-8', `traceparent: ${PARENT}`, 'tracestate: a=1');

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** A receiver of OTLP over HTTP. */
async function startReceiver() {
  const spans: Span[] = [];
  const bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    bodies.push(body);
    for (const { scopeSpans } of body.resourceSpans) spans.push(...scopeSpans.flatMap(each => each.spans));
    response.setHeader('Content-Type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans, bodies };
}

async function front(config: ConfigPart) {
  const upstream = await startUpstream();
  const log = { level: 'info', access: true };
  const route = { path: '/v1/things/{id}' };
  return {
    upstream,
    gateway: await startGateway({ upstreamPort: upstream.port, route, config: { log, ...config } }),
  };
}

/** A copy of the gateway that has all packages but those. */
async function withoutOpenTelemetry(): Promise<string> {
  const folder = await tempFolder();
  await cp('src', join(folder, 'src'), { recursive: true });
  await cp('package.json', join(folder, 'package.json'));
  await mkdir(join(folder, 'node_modules'));
  for (const name of await readdir('node_modules'))
    if (name !== '@opentelemetry')
      await symlink(resolve('node_modules', name), join(folder, 'node_modules', name));
  return folder;
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

test('without tracing the fields of a trace pass untouched', async () => {
  const { gateway, upstream } = await front({});
  await gateway.ask(ASKED);
  const { fields } = upstream.onlyRequest;
  expect(values(fields, 'traceparent')).toEqual([PARENT]);
  expect(values(fields, 'tracestate')).toEqual(['a=1']);
});

test("a trusted proxy's trace goes on, and its id stands in the access log", async () => {
  const { gateway, upstream } = await front({ tracing: { sample: '0%' }, trusted_proxies: ['127.0.0.1'] });
  await gateway.ask(ASKED);
  const [parent] = values(upstream.onlyRequest.fields, 'traceparent');
  expect(parent).toMatch(new RegExp(`^00-${ID}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`));
  expect(values(upstream.onlyRequest.fields, 'tracestate')).toEqual(['a=1']);
  await expect.poll(() => accessLines(gateway)).toMatchObject([{ traceId: ID }]);
});

test('spans reach a receiver of OpenTelemetry, with the ids that the upstream saw and nothing secret', async () => {
  const receiver = await startReceiver();
  const tracing = { sample: '100%', export: { endpoint: receiver.url, service: 'edge' } };
  const { gateway, upstream } = await front({ tracing });
  await gateway.ask(ASKED);
  await expect.poll(() => receiver.spans.length).toBe(2);
  const [server, client] = receiver.spans.toSorted((a, b) => a.kind - b.kind) as [Span, Span];
  expect([server.name, server.kind, client.kind]).toEqual(['GET /v1/things/{id}', 2, 3]);
  expect(server.parentSpanId ?? '').toBe('');
  expect(client).toMatchObject({ traceId: server.traceId, parentSpanId: server.spanId });
  expect(values(upstream.onlyRequest.fields, 'traceparent')).toEqual([
    `00-${client.traceId}-${client.spanId}-01`,
  ]);
  expect(attributesOf(server)).toEqual({
    'http.request.method': 'GET',
    'http.route': '/v1/things/{id}',
    'http.response.status_code': 200,
    'network.protocol.name': 'http',
    'network.protocol.version': '1.1',
  });
  expect(attributesOf(client)).toEqual({
    'http.request.method': 'GET',
    'server.address': '127.0.0.1',
    'server.port': upstream.port,
    'http.response.status_code': 200,
  });
  expect(BigInt(client.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(server.startTimeUnixNano));
  expect(BigInt(client.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(server.endTimeUnixNano));
  const text = JSON.stringify(receiver.bodies);
  expect(text).toContain('"edge"');
  expect(text).not.toMatch(/secret|127\.0\.0\.1:\d+\/v1/);
});

dear(
  'without the packages of OpenTelemetry a gateway that exports does not start, and the check says what to install',
  async () => {
    const path = await writeGatewayConfig({
      upstreamPort: 1,
      config: { tracing: { export: { endpoint: 'http://127.0.0.1:1/v1/traces' } } },
    });
    const folder = await withoutOpenTelemetry();
    const weir = (command: string) =>
      spawnSync(process.execPath, ['src/main.ts', command, path], { cwd: folder, encoding: 'utf8' });
    const { status, stderr } = weir('serve');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^weir serve: tracing\.export needs packages .*: npm install @opentelemetry\/api @[^\n]+\n$/,
    );
    const checked = weir('check');
    expect(checked.status).toBe(0);
    expect(checked.stdout).toMatch(
      /gateway\.yaml:\d+:\d+: warning: tracing\.export: needs packages .*: npm install @/,
    );
  },
);

test('what waits is sent when the gateway stops', async () => {
  const receiver = await startReceiver();
  const { gateway } = await front({ tracing: { sample: '100%', export: { endpoint: receiver.url } } });
  await gateway.ask(ASKED);
  await gateway.app.drain();
  expect(receiver.spans).toHaveLength(2);
});

test('spans that are lost are counted, and a stop says how many were not sent', async () => {
  const told = Promise.withResolvers<void>();
  const refusing = createServer(async (_, response) => {
    await told.promise;
    response.writeHead(400).end('no "spans" here');
  }).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const { port } = refusing.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}/v1/traces`;
  const { gateway } = await front({ tracing: { sample: '100%', export: { endpoint, queue: 1 } } });
  const lost = () => gateway.counted('weir_spans_lost_total');
  expect(await lost()).toEqual(new Map());
  const count = async (reason: string) => (await lost()).get(`{reason="${reason}"}`) ?? 0;
  // A request has two spans: of all, one is on its way, at most one waits, and the others find no room.
  for (let n = 0; n < 2; n++) await gateway.ask(ASKED);
  await expect.poll(() => count('queue')).toBeGreaterThanOrEqual(2);
  told.resolve();
  await expect.poll(async () => (await count('queue')) + (await count('receiver'))).toBe(4);
  expect(await count('receiver')).toBeGreaterThan(0);
  const lines = () => gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'tracing');
  expect(lines()).toMatchObject([{ cause: expect.stringMatching(/^[^{]*$/) }]);
  refusing.closeAllConnections();
  refusing.close();
  await gateway.ask(ASKED);
  await gateway.app.drain();
  expect(lines().at(-1)).toMatchObject({ spans: 2, msg: 'spans were not sent before the gateway stopped' });
});
