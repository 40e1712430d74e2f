import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { WorldSocket } from '../network/socket.ts';
import { SOLD } from '../oracles/sold-quotas.ts';
import type { Asked, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import type { WorldGateway } from './gateway.ts';
import { LAST, wordOf } from './http-service.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { WorldProvider } from './provider.ts';
import type { Response } from './response-reader.ts';

/** How long a client waits for a response. */
export const PATIENCE_MS = 20_000;
/** How soon everyone is served again after all faults are over. */
const PROGRESS_MS = 20_000;

export const PATHS = [
  ...['/v1/things', '/v1/things/7', '/v1/open', '/v1/other'],
  ...['/v1/multiplexed', '/v1/multiplexed/7', SOLD],
] as const;
export const METHODS = ['GET', 'GET', 'GET', 'POST', 'PUT', 'HEAD', 'DELETE'] as const;

/** A request that is about to be sent. `body`: how many bytes follow its head. */
interface Asking extends Pick<Asked, 'id' | 'gateway' | 'method' | 'path' | 'token'> {
  readonly body: number;
}

/** A client of the gateways, whatever it speaks. It visits them, and looks whether each response is its own. */
export abstract class Client implements Inhabitant {
  readonly name: string;
  readonly host: Host;
  protected readonly world: World;
  readonly #provider: WorldProvider;
  readonly #draws: Draws;
  #process: Process | null = null;
  #network: WorldNetwork | null = null;
  readonly #tokens: WorldToken[] = [];
  #requests = 0;

  /** @param provider where it gets tokens */
  constructor(world: World, name: string, provider: WorldProvider) {
    this.name = name;
    this.world = world;
    this.#provider = provider;
    this.host = world.host(name);
    this.#draws = world.draws.part(`client ${name}`);
  }

  async start(): Promise<void> {
    const { process, network } = this.host.start();
    this.#process = process;
    this.#network = network;
  }

  plan(): void {
    const draws = this.#draws.part('visits');
    const { plan, gateways } = this.world;
    for (let i = draws.whole(3, 12); i > 0; i--) {
      const gateway = draws.one(gateways);
      const atMs = draws.between(0, 25_000);
      plan.add(atMs, `${this.name} visits ${gateway.name}`, own => void this.visit(gateway, own));
    }
  }

  async prove(): Promise<void> {
    for (const gateway of this.world.gateways) {
      const untilMs = this.world.nowMs + PROGRESS_MS;
      for (let tries = 1; ; tries++) {
        const response = await this.probe(gateway, `probe-${gateway.name}-${tries}-${this.nextId()}`);
        if (response?.status === 200) break;
        if (this.world.nowMs > untilMs) {
          const last = response === null ? 'broken' : `${response.status} ${response.body}`;
          this.world.wrong(
            'progress',
            `${this.name} is not served by ${gateway.name}: ${tries} times, last ${last}`,
          );
          break;
        }
        await this.world.pause(response?.status === 429 ? waitOf(response) : 500);
      }
    }
  }

  async leave(): Promise<void> {
    if (this.#process !== null) this.host.kill(this.#process, false);
  }

  /** Asks for this and that. */
  protected abstract visit(gateway: WorldGateway, draws: Draws): Promise<void>;

  /** Asks on a connection of its own for what anyone may have. */
  protected abstract probe(gateway: WorldGateway, id: string): Promise<Response | null>;

  protected nextId(): string {
    return `${this.name}-${++this.#requests}`;
  }

  protected begin({ body, ...request }: Asking): Asked {
    const { id, gateway, method, path } = request;
    this.world.history.tell(this.name, `asks ${gateway.name} ${method} ${path} ${id}`);
    return this.world.requests.begin({
      ...request,
      ...{ client: this.name, life: gateway.lives.length },
      ...{ mayRepeat: body === 0 && method !== 'POST', sentMs: this.world.nowMs },
    });
  }

  protected finish(asked: Asked, end: Response | 'broken' | 'unprocessed'): void {
    asked.endedMs = this.world.nowMs;
    asked.outcome = typeof end === 'string' ? end : 'answered';
    const what = typeof end === 'string' ? `is ${end}` : `gets ${end.status} ${end.body.length}`;
    this.world.history.tell(this.name, `${asked.id} ${what}`);
    if (typeof end === 'string') return;
    asked.status = end.status;
    asked.fields = end.fields;
    this.#judge(asked, end);
  }

  /** How many bytes a request has behind its head. */
  protected bodyOf(method: string, draws: Draws): number {
    const hasBody = (method === 'POST' && draws.percent(60)) || (method === 'PUT' && draws.percent(30));
    return hasBody ? draws.whole(0, 30_000) : 0;
  }

  /** How long it reads nothing on a connection, before it asks for something on it. */
  protected restOf(draws: Draws): number {
    return draws.percent(15) ? draws.one([1, 100, 1_000]) : 0;
  }

  /** A new token, or one that it has had for a while. */
  protected tokenFor(draws: Draws): WorldToken {
    if (this.#tokens.length > 0 && draws.percent(60)) return draws.one(this.#tokens);
    const token = this.#provider.tokenFor(draws);
    this.#tokens.push(token);
    return token;
  }

  protected connect(gateway: WorldGateway, port = 80): WorldSocket {
    if (this.#network === null) throw new Error(`${this.name} has not started`);
    this.world.kernel.current = this.process;
    return this.#network.connect({ host: gateway.host.address, port });
  }

  protected after(ms: number, run: () => void): { run: unknown } {
    return this.world.kernel.after(ms, this.process, run);
  }

  protected get process(): Process {
    if (this.#process === null) throw new Error(`${this.name} has not started`);
    return this.#process;
  }

  /** Whether the response is the one to this request. */
  #judge(asked: Asked, { status, fields, body }: Response): void {
    const from = fields.get('x-world');
    // Who speaks in messages has looked at them.
    if (from === undefined || fields.has('grpc-status')) return;
    const wrong = (what: string) => this.world.wrong('own response', `${asked.id} got ${what}`);
    const word = wordOf(asked.id);
    const length = fields.get('content-length');
    const endsItself = length === undefined && status === 200 && asked.method !== 'HEAD';
    const words = body.endsWith(LAST) ? body.slice(0, -LAST.length) : body;
    if (from !== asked.id) wrong(`the response to ${from}`);
    else if (endsItself && words === body) wrong('a part that looks whole');
    else if (length !== undefined && asked.method !== 'HEAD' && Number(length) !== body.length)
      wrong(`${body.length} bytes that should be ${length}`);
    else if (words !== word.repeat(words.length / word.length))
      wrong(`${status} with a body that is not its own`);
  }
}

/** How long a 429 tells a client to wait. */
export function waitOf({ fields }: Response): number {
  return Number(fields.get('retry-after') ?? 1) * 1_000;
}
