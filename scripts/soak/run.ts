import { appendFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../test/support/random.ts';
import { ABUSE } from './abuse.ts';
import { type Act, CLIENTS, PATIENCE_MS, type Target } from './clients.ts';
import { faultOf, type World } from './faults.ts';
import { type SoakGateway, startGateway } from './gateway.ts';
import type { SoakOptions } from './options.ts';
import type { ProbedGateway } from './probed-gateway.ts';
import { gaugesOf, isQuiet, restOf, type Sample, sampleOf } from './samples.ts';
import { type Services, startServices } from './services.ts';

/** How often each kind of client ended how. */
export type Outcomes = Record<string, Record<string, number>>;

const KINDS = Object.entries({ ...CLIENTS, ...ABUSE });
const WEIGHTS = KINDS.reduce((sum, [, { weight }]) => sum + weight, 0);
/** A rest is over when nothing is under way, or after this time, which then shows. */
const REST_PATIENCE_MS = 60_000;

/** Runs the gateway for so long. `progress` is called with every sample. */
export async function soak(
  options: SoakOptions,
  progress: (sample: Sample, doing: string) => void,
): Promise<Outcomes> {
  writeFileSync(join(options.folder, 'samples.jsonl'), '');
  const services = await startServices();
  const gateway = await startGateway(options, services);
  const run = new Run(options, services, gateway, progress);
  await run.all();
  await gateway.process.stop();
  await services.close();
  return run.outcomes;
}

class Run {
  readonly outcomes: Outcomes = {};
  readonly #options: SoakOptions;
  readonly #gateway: ProbedGateway;
  readonly #world: World;
  readonly #progress: (sample: Sample, doing: string) => void;
  readonly #random: Random;
  readonly #target: Target;
  readonly #startedAt = performance.now();
  /** What clients do at the moment. */
  readonly #acting = new Set<Promise<void>>();
  #cycle = 0;

  constructor(
    options: SoakOptions,
    services: Services,
    gateway: SoakGateway,
    progress: (sample: Sample, doing: string) => void,
  ) {
    this.#options = options;
    this.#gateway = gateway.process;
    this.#world = { services, gateway: gateway.process, folder: options.folder };
    this.#progress = progress;
    this.#random = new Random(options.seed);
    const { issuer, redirectUri } = services.provider;
    this.#target = {
      ...{ port: gateway.port, tlsPort: gateway.tlsPort, issuer, redirectUri },
      authority: gateway.authority,
      random: this.#random,
      tokens: [],
      agent: new Agent({ keepAlive: true, timeout: PATIENCE_MS }),
    };
  }

  /** At least eight rests, and one every four minutes of a long run. */
  async all(): Promise<void> {
    const cycleMs = Math.min(240_000, (this.#options.seconds * 1_000) / 8);
    while (this.#seconds < this.#options.seconds) {
      this.#cycle += 1;
      await this.#busy(cycleMs * 0.8);
      await this.#rest(cycleMs * 0.1);
    }
  }

  get #seconds(): number {
    return (performance.now() - this.#startedAt) / 1_000;
  }

  /** Clients come, each kind once and then by chance, and a fault is in the middle. */
  async #busy(ms: number): Promise<void> {
    const until = performance.now() + ms;
    const fault = faultOf(this.#cycle, this.#options.seed, this.#world);
    const trouble = sleep(ms * 0.3).then(() => fault.happen(ms * 0.2));
    const coming = KINDS.map(([kind]) => kind);
    let sampleAt = performance.now() + ms / 8;
    while (performance.now() < until || coming.length > 0) {
      const kind = coming.pop() ?? this.#anyKind();
      // A gateway that serves late must not have all clients of an hour wait for it.
      if (this.#acting.size < 200) this.#begin(kind);
      await sleep((2_000 / this.#options.rate) * this.#random.next());
      if (performance.now() < sampleAt) continue;
      sampleAt += ms / 8;
      this.#note(sampleOf(this.#gateway, this.#seconds, this.#cycle, null), fault.name);
    }
    await trouble;
  }

  /** Everybody leaves; what the gateway still holds then is what it does not let go. */
  async #rest(ms: number): Promise<void> {
    await Promise.all(this.#acting);
    this.#target.agent.destroy();
    await sleep(ms);
    const patience = performance.now() + REST_PATIENCE_MS;
    while (!isQuiet(await gaugesOf(this.#gateway)) && performance.now() < patience) await sleep(100);
    const rest = await restOf(this.#gateway);
    this.#note(sampleOf(this.#gateway, this.#seconds, this.#cycle, rest), 'rest');
    writeFileSync(join(this.#options.folder, 'outcomes.json'), JSON.stringify(this.outcomes, null, 2));
  }

  #note(sample: Sample, doing: string): void {
    appendFileSync(join(this.#options.folder, 'samples.jsonl'), `${JSON.stringify(sample)}\n`);
    this.#progress(sample, doing);
  }

  #anyKind(): string {
    let left = this.#random.next() * WEIGHTS;
    for (const [kind, { weight }] of KINDS) {
      left -= weight;
      if (left < 0) return kind;
    }
    return 'HTTP/1.1 GET';
  }

  #begin(kind: string): void {
    const act: Act | undefined = (CLIENTS[kind] ?? ABUSE[kind])?.act;
    if (act === undefined) return;
    const acting: Promise<void> = act(this.#target)
      .catch((error: unknown) => `failed: ${Object(error).code ?? Object(error).message}`)
      .then(outcome => {
        this.outcomes[kind] ??= {};
        const counts = this.outcomes[kind];
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        this.#acting.delete(acting);
      });
    this.#acting.add(acting);
  }
}
