import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  changeConfig,
  changeLimits,
  configPart,
  refusals,
  replaceFile,
  serves,
  statusOf,
} from '../support/edit-config.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { fieldOf, rateOf } from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { type Response, startUpstream } from '../support/wire/index.ts';

/** Three times each change of the operator's. */
const RELOADS = runs(30);
/** How many requests customers send between two changes at least. */
const BETWEEN = 30;
const ALL = 50_000;

const limits = (units: number): ConfigPart => ({
  global: 'off',
  buckets: { counted: { user: `${units}/18h` } },
  routes: { '/counted/**': 'counted' },
});

/** Makes a change and waits for what becomes of it: a good one serves, a bad one is refused, and then taken back. */
class Operator {
  readonly #gateway: GatewayProcess;
  readonly #upstreamPort: number;
  readonly #sees: (limit: number) => boolean;
  /** Number of the configuration that serves. */
  generation = 2;
  bad = 0;
  /** How many first pieces rested for so long that they were taken, and how many files that were empty in between. */
  rested = 0;
  restedEmpty = 0;

  /** @param sees whether a customer was told of this limit */
  constructor(gateway: GatewayProcess, upstreamPort: number, sees: (limit: number) => boolean) {
    this.#gateway = gateway;
    this.#sees = sees;
    this.#upstreamPort = upstreamPort;
  }

  async change(turn: number): Promise<void> {
    const good = [
      this.#number,
      this.#upstream,
      this.#provider,
      this.#tokens,
      this.#half,
      this.#routes,
      this.#secret,
    ];
    const bad = [this.#brokenLimits, this.#missing, this.#brokenGateway];
    const changes = [...good, ...bad];
    const change = changes[turn % changes.length];
    if (change === undefined) return;
    await change.call(this, turn);
    if (good.includes(change)) await serves(this.#gateway, ++this.generation);
  }

  /** Waits until what `spoil` makes bad is refused, and after `mend` is good again. */
  async #refused(spoil: () => Promise<void>, mend: () => Promise<void>): Promise<void> {
    const [refused, unchanged] = [await this.#count('refused'), await this.#count('unchanged')];
    await spoil();
    await refusals(this.#gateway, refused + 1);
    await mend();
    await waitFor('it is as it was', async () => (await this.#count('unchanged')) === unchanged + 1);
    this.bad++;
  }

  async #count(outcome: string): Promise<number> {
    return (await this.#gateway.metric('weir_config_reloads_total')).get(`{outcome="${outcome}"}`) ?? 0;
  }

  async #number(turn: number): Promise<void> {
    await changeLimits(this.#gateway, limits(ALL + 1 + turn));
  }

  async #brokenLimits(turn: number): Promise<void> {
    const path = join(dirname(this.#gateway.configFile), 'limits.yaml');
    const text = await readFile(path, 'utf8');
    const broken = `global: { user: ${turn}\n`;
    await this.#refused(
      () => replaceFile(path, broken),
      () => replaceFile(path, text),
    );
  }

  async #upstream(turn: number): Promise<void> {
    const api = { url: `http://127.0.0.1:${this.#upstreamPort}`, keep_alive: `${2_000 + turn}ms` };
    await changeConfig(this.#gateway, { upstreams: { api } });
  }

  async #provider(turn: number): Promise<void> {
    const provider = await configPart(this.#gateway, 'identity_provider');
    await changeConfig(this.#gateway, { identity_provider: { ...provider, timeout: `${3_000 + turn}ms` } });
  }

  async #tokens(turn: number): Promise<void> {
    await changeConfig(this.#gateway, { access_tokens: { audience: 'api', leeway: `${30_000 + turn}ms` } });
  }

  /** Written in two pieces, of which the first is a whole file of other limits: taken, it would have a number of its own. */
  async #half(turn: number): Promise<void> {
    const path = join(dirname(this.#gateway.configFile), 'limits.yaml');
    const refused = await this.#count('refused');
    writeFileSync(path, stringify(limits(2 * ALL + turn)));
    const firstMs = statSync(path).mtimeMs;
    // Blocks: customers in this event loop would come in between, and after 100 ms the gateway rightly takes the first piece.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    writeFileSync(path, '');
    appendFileSync(path, stringify(limits(ALL + 1 + turn)));
    // A machine that stood still between the pieces has let the first one rest.
    const isLate = statSync(path).mtimeMs - firstMs > 80;
    await waitFor('the whole file serves', () => this.#sees(ALL + 1 + turn));
    const { generation } = (await statusOf(this.#gateway)).configuration;
    if (isLate && generation === this.generation + 2) {
      this.rested++;
      this.generation++;
    }
    if (isLate) this.restedEmpty += (await this.#count('refused')) - refused;
    expect(generation).toBe(this.generation + 1);
  }

  async #missing(): Promise<void> {
    const path = join(dirname(this.#gateway.configFile), 'limits.yaml');
    const text = await readFile(path, 'utf8');
    await this.#refused(
      () => unlink(path),
      () => replaceFile(path, text),
    );
  }

  async #routes(turn: number): Promise<void> {
    const { configFile } = this.#gateway;
    const { routes }: { routes: ConfigPart[] } = parse(await readFile(configFile, 'utf8'));
    await changeConfig(this.#gateway, { routes: [...routes, { path: `/new/${turn}`, upstream: 'api' }] });
  }

  async #brokenGateway(): Promise<void> {
    const { configFile } = this.#gateway;
    const text = await readFile(configFile, 'utf8');
    await this.#refused(
      () => replaceFile(configFile, `${text}\nupstreems: {}\n`),
      () => replaceFile(configFile, text),
    );
  }

  async #secret(turn: number): Promise<void> {
    const provider = await configPart(this.#gateway, 'identity_provider');
    await replaceFile(String(provider['client_secret_file']), `secret-${turn}`);
  }
}

/** Asks on one connection, about forty times a second, until told to stop. */
class Customer {
  readonly #issuer: TestIssuer;
  counted = 0;
  asked = 0;
  last: Response | undefined;
  readonly wrong: string[] = [];

  constructor(issuer: TestIssuer) {
    this.#issuer = issuer;
  }

  async run(gateway: GatewayProcess, until: () => boolean): Promise<void> {
    const bearer = this.#issuer.bearer({ exp: Math.floor(Date.now() / 1_000) + 600 });
    const requests = [
      { bytes: head('GET /counted/a', bearer), body: 'ok', counts: true },
      { bytes: withBody('POST /counted/echo', 'hello', bearer), body: 'hello', counts: true },
      { bytes: head('GET /slow', bearer), body: 'slow', counts: false },
      { bytes: head('GET /open'), body: 'ok', counts: false },
    ];
    const client = await gateway.connect();
    for (let turn = 0; !until(); turn++) {
      const request = requests[turn % requests.length] ?? requests[0];
      if (request === undefined) return;
      const response = await client.ask(request.bytes, { to: request.bytes.split(' ')[0] ?? 'GET' });
      this.asked++;
      if (request.counts) {
        this.counted++;
        this.last = response;
      }
      if (response.status !== 200 || response.body.toString() !== request.body)
        this.wrong.push(`${response.status} ${response.body}`);
      await sleep(20);
    }
    client.destroy();
  }
}

test('through one reload after the other, with broken files among them, no request fails and none is counted twice or forgotten', async () => {
  const issuer = await startIssuer();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    const { target, body } = exchange.request;
    if (target === '/slow') await sleep(150);
    await exchange.answer(200, [], target === '/slow' ? 'slow' : target.endsWith('echo') ? body : 'ok');
  });
  const secretFile = join(await tempFolder(), 'secret');
  await writeFile(secretFile, 'secret');
  const gateway = await startGatewayProcess({
    upstreamPort: upstream.port,
    config: {
      identity_provider: {
        issuer: issuer.url,
        client_id: 'gateway',
        client_secret_file: secretFile,
        redirect_uri: 'https://app.example/callback',
      },
      access_tokens: { audience: 'api' },
      routes: [
        { path: '/**', upstream: 'api' },
        { path: '/open', upstream: 'api', authentication: 'none' },
      ],
      log: { level: 'warn', access: false },
    },
  });
  await changeLimits(gateway, limits(ALL));
  await serves(gateway, 2);

  const customers = Array.from({ length: 4 }, () => new Customer(issuer));
  const sees = (limit: number) =>
    customers.some(({ last }) => last !== undefined && rateOf(last).limit === limit);
  const operator = new Operator(gateway, upstream.port, sees);
  let over = false;
  const running = Promise.all(customers.map(customer => customer.run(gateway, () => over)));
  const asked = () => customers.reduce((sum, customer) => sum + customer.asked, 0);
  for (let change = 0; change < RELOADS; change++) {
    const before = asked();
    await operator.change(change);
    await waitFor('customers have gone on', () => asked() >= before + BETWEEN);
  }
  over = true;
  await running;

  expect(customers.flatMap(({ wrong }) => wrong)).toEqual([]);
  const { configuration } = await statusOf(gateway);
  expect(configuration).toMatchObject({
    generation: operator.generation,
    waiting: null,
    lastFailure: { mended: true },
  });
  expect(operator.generation - 2 - operator.rested + operator.bad).toBe(RELOADS);
  const reloads = await gateway.metric('weir_config_reloads_total');
  expect(reloads.get('{outcome="refused"}')).toBe(operator.bad + operator.restedEmpty);
  // One principal: what it has drawn is what was sent, through all configurations.
  const sent = customers.reduce((sum, { counted }) => sum + counted, 0);
  const { limit, remaining } = customers
    .map(customer => rateOf(customer.last))
    .reduce((low, rate) => (rate.remaining < low.remaining ? rate : low));
  expect(limit - remaining).toBe(sent);
  // Its one line ends in `/**`, and so covers several routes.
  expect(fieldOf(customers[0]?.last, 'x-ratelimit-scope')).toBe('shared');
});
