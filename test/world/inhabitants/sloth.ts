import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import { askHeld, TURN_BYTES } from './auditor.ts';
import { CALLS_PORT, type WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import { PLENTY, type PlentyService, WANT } from './plenty-service.ts';
import { REFRESH } from './sign-in-client.ts';
import { Http1SlothLine, Http2SlothLine, type SlothLine, WIDE, type Windows } from './sloth-line.ts';

const ASKING = ['http1', 'h2', 'h2', 'call', 'web-call', 'h2-web-call'] as const;
const DIALECTS = [...ASKING, 'web-socket', 'h2-web-socket'] as const;
type Dialect = (typeof DIALECTS)[number];

/** How soon what was read by a gateway is at a service, and what a service has given is at the gateway, where nothing is wrong. */
const SOON_MS = 500;
/** A system that is filled again sooner than this may look the same whenever a gateway asks it. */
const TOLD_MS = 3_000;
/** How soon a gateway has seen how fast somebody reads. */
const MEASURED_MS = 2_500;
/** How soon a gateway knows that a client is gone. */
const GONE_MS = 20_000;
/** How often it looks, reads or makes room. */
const TICK_MS = 250;
/** How much longer than `client_read` a gateway may take until it has ended who does not read: two sweeps, and an eighth more each for the average and the kernel. */
const LATE_MS = 1_500;
const LATE_PART = 0.375;
const FIRST_WINDOW = 65_535;
/** What a gateway has whole, whatever its client does. */
const WHOLE_BYTES = 50_000;
const FEW_BYTES = 3_000;
/** A connection on which more waits is not read from: its socket may be full. */
const FULL_BYTES = 50_000;
/** The least that the head of a response takes over HTTP/2, and how many more requests a connection may begin before it stops to read. */
const MIN_HEAD_BYTES = 180;
const AT_ONCE = 80;

/** Into how many shares `caps.buffered` is divided, and what a connection and a request count besides their bytes (docs/memory.md). */
const SHARES = 10;
const LINE_BYTES = 150_000;
const STREAM_BYTES = 12_500;
/** How much a gateway may write at once. */
const WRITE_BYTES = 150_000;

/** What a few share, what only a few of one client may have in flight, and after how many refusals an address is restricted. */
export const SHARED = '/v1/shared';
export const KEPT = '/v1/kept';
export const MAX_KEPT = 3;
export const MAX_OFFENCES = 60;
const UNREAD: Windows = { stream: WIDE, connection: WIDE, by: 'socket' };

/** One thing that it asks for. */
interface Wish {
  readonly gateway: WorldGateway;
  readonly dialect: Dialect;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly bytes: number;
}

/** A request of one of them, and where it leads. */
export interface Sent {
  readonly asked: Asked;
  readonly upstream: string;
  /** Whether its response is whole at the gateway as soon as the service has given it. */
  readonly isFew: boolean;
  readonly line: SlothLine;
  readonly bytes: number;
}

/** A client that reads nothing, or little, or nothing for a while. What its requests held is given back all the same. */
export class Sloth implements Inhabitant {
  readonly name: string;
  readonly #world: World;
  readonly #service: PlentyService;
  readonly #host: Host;
  readonly #draws: Draws;
  #process: Process | null = null;
  #network: WorldNetwork | null = null;
  #requests = 0;
  /** Whether it may be restricted: what it has offended counts for a minute. */
  #hasOffended = false;
  /** What it and others like it have asked for. */
  readonly #sent: Sent[];

  constructor(world: World, name: string, service: PlentyService, sent: Sent[]) {
    this.name = name;
    this.#world = world;
    this.#service = service;
    this.#sent = sent;
    this.#host = world.host(name);
    this.#draws = world.draws.part(`sloth ${name}`);
  }

  async start(): Promise<void> {
    const { process, network } = this.#host.start();
    [this.#process, this.#network] = [process, network];
  }

  plan(): void {
    const draws = this.#draws.part('visits');
    for (let i = draws.whole(0, 2); i > 0; i--) {
      const gateway = draws.one(this.#world.gateways);
      const what = `${this.name} visits ${gateway.name}`;
      this.#world.plan.add(draws.between(0, 20_000), what, own => void this.#visit(gateway, own));
    }
  }

  async prove(): Promise<void> {
    const draws = this.#draws.part('in the end');
    await this.#hoard(draws.one(this.#world.gateways), draws.one(ASKING), draws);
    await this.#visit(draws.one(this.#world.gateways), draws);
  }

  async leave(): Promise<void> {
    if (this.#process !== null) this.#host.kill(this.#process, false);
  }

  async #visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const { hasShared, hasOffences } = this.#world.reading;
    const course = draws.one([
      ...(['hoard', 'hoard', 'dawdle', 'dawdle', 'stuff', 'flood', 'hesitate'] as const),
      ...(hasOffences ? (['offend', 'offend'] as const) : hasShared ? (['occupy'] as const) : []),
    ]);
    const dialect = draws.one(DIALECTS);
    this.#world.history.tell(this.name, `begins to ${course} at ${gateway.name} in ${dialect}`);
    if (course === 'dawdle' || (course === 'hoard' && dialect.endsWith('web-socket')))
      await this.#dawdle(gateway, dialect, draws);
    else if (course === 'hoard') await this.#hoard(gateway, dialect, draws);
    else if (course === 'offend') await this.#offend(gateway, draws);
    else if (course === 'occupy') await this.#occupy(gateway, draws);
    else if (course === 'stuff') await this.#stuff(gateway, draws);
    else if (course === 'flood') await this.#flood(gateway, draws);
    else await this.#hesitate(gateway, draws);
  }

  /** Asks for one little thing after the other, reads nothing, and gets all of them: none holds a place. */
  async #hoard(gateway: WorldGateway, dialect: Dialect, draws: Draws): Promise<void> {
    const { hasShared, hasOffences, mostRequests } = this.#world.reading;
    const isDenied = !isCall(dialect) && draws.percent(40) && hasShared;
    const denials = hasOffences ? [404] : [401, 403, 404];
    const status = isDenied ? draws.one(denials) : draws.one([200, 200, 204, 304, 404, 503]);
    const method = draws.one(['GET', 'GET', 'HEAD', 'POST']);
    const path = isDenied ? `${SHARED}/${this.name}` : pathOf(dialect, draws);
    const wish = { gateway, dialect, method, path, status: isCall(dialect) ? 200 : status };
    const lines = await this.#pile(wish, mostRequests + 6, draws);
    await this.#world.pause(SOON_MS);
    await this.#judgeHeld(gateway);
    await this.#part(lines, draws);
  }

  /** Asks for what it must not have until it is restricted, and reads none of the refusals. */
  async #offend(gateway: WorldGateway, draws: Draws): Promise<void> {
    const dialect = draws.one(['h2', 'http1'] as const);
    const path = pathOf(dialect, draws);
    const wish = { gateway, dialect, method: 'GET', path, status: draws.one([401, 403]) };
    const lines = await this.#pile(wish, MAX_OFFENCES + 1, draws);
    this.#hasOffended = true;
    await this.#world.pause(SOON_MS);
    const offences = this.#sent.filter(
      ({ asked, line }) => lines.includes(line) && asked.arrivals.length > 0 && asked.givenMs !== null,
    );
    const line = this.#open(gateway, 'http1', UNREAD);
    if (line === null) return;
    const { asked } = this.#ask(line, { ...wish, dialect: 'http1', bytes: 0 });
    await this.#world.pause(SOON_MS);
    const isLetIn = offences.length > MAX_OFFENCES && asked.arrivals.length > 0;
    if (isLetIn && this.#world.isHealed && this.#isCalm(gateway, offences[0]?.asked ?? asked))
      this.#world.wrong(
        'given back',
        `${gateway.name} lets ${asked.id} in behind ${offences.length} offences`,
      );
    await this.#part([...lines, line], draws);
  }

  /** Has as many in flight as it may, and one more: what it has not read is in flight. */
  async #occupy(gateway: WorldGateway, draws: Draws): Promise<void> {
    const { reading } = this.#world;
    const line = this.#open(gateway, 'h2', { stream: 0, connection: WIDE, by: 'stream' });
    if (line === null) return;
    const wish = { gateway, dialect: 'h2', method: 'GET', path: KEPT, status: 200, bytes: 1_000 } as const;
    const sent: Sent[] = [];
    for (let i = 0; i <= MAX_KEPT; i++) {
      sent.push(this.#ask(line, wish));
      await this.#world.pause(draws.between(50, 200));
    }
    await this.#world.pause(SOON_MS);
    const arrived = sent.filter(({ asked }) => asked.arrivals.length > 0).length;
    line.grantAll();
    await this.#world.pause(SOON_MS);
    const next = this.#ask(line, wish);
    await this.#world.pause(SOON_MS);
    const first = sent[0]?.asked;
    const isCalm =
      first !== undefined && this.#world.isHealed && this.#isCalm(gateway, first) && !line.isGone;
    if (isCalm && reading.maxStreams > MAX_KEPT + 2 && this.#share > 200_000) {
      if (arrived !== MAX_KEPT)
        this.#world.wrong(
          'at once',
          `${gateway.name} admits ${arrived}, and ${MAX_KEPT} may be in flight: ${first.id}`,
        );
      if (next.asked.arrivals.length === 0)
        this.#world.wrong(
          'given back',
          `${gateway.name} does not admit ${next.asked.id}, and all before it were read`,
        );
    }
    await this.#part([line], draws);
  }

  /** Asks for so many things one after the other, on as many connections as it needs, and reads none of the responses. */
  async #pile(wish: Omit<Wish, 'bytes'>, count: number, draws: Draws): Promise<SlothLine[]> {
    const { gateway, dialect, status } = wish;
    const isMultiplexed = isOverHttp2(dialect);
    const most = isMultiplexed ? Math.min(this.#world.reading.maxStreams - 2, 20) : 3;
    const by = draws.one<Windows['by']>(['socket', 'stream', 'stream']);
    const lines: SlothLine[] = [];
    let waiting = 0;
    for (let left = count; left > 0; left--) {
      let line: SlothLine | null = lines.at(-1) ?? null;
      if (line === null || line.taken.length >= most || waiting > FULL_BYTES || line.isGone) {
        line = this.#open(gateway, dialect, { stream: by === 'stream' ? 0 : WIDE, connection: WIDE, by });
        if (line === null) break;
        if (by !== 'stream' || !isMultiplexed) line.socket.ration(0);
        lines.push(line);
        waiting = 0;
      }
      const mayBeLong = !isMultiplexed || waiting === 0;
      const drawn = draws.one([0, 1, FEW_BYTES, mayBeLong ? WHOLE_BYTES : FEW_BYTES]);
      const bytes = status === 204 || status === 304 ? 0 : drawn;
      waiting += bytes;
      const sent = this.#ask(line, { ...wish, bytes });
      await this.#world.pause(draws.between(20, 100));
      // Over HTTP/1.1 those behind it wait until it is delivered.
      if (isMultiplexed || line.taken.length === 1) await this.#judgeArrival(sent);
    }
    return lines;
  }

  /** Takes a long answer slowly, or not at all, in one way or another. */
  async #dawdle(gateway: WorldGateway, dialect: Dialect, draws: Draws): Promise<void> {
    const { reading } = this.#world;
    const by = isOverHttp2(dialect) ? draws.one<Windows['by']>(['socket', 'stream', 'connection']) : 'socket';
    const windows = {
      stream: by === 'stream' ? draws.one([0, 1, 1_000]) : WIDE,
      connection: by === 'connection' ? FIRST_WINDOW : WIDE,
      by,
    };
    const line = this.#open(gateway, dialect, windows);
    if (line === null) return;
    const least = reading.minBytesPerS;
    const isHonest = draws.percent(50);
    const honest = Math.max(1_000, 3 * (least ?? 0)) * draws.one([1, 4, 20]);
    const lame = least === null ? 0 : draws.one([0, Math.floor(least / 4)]);
    const bytesPerS = isHonest ? honest : lame;
    // Nothing for a while, then all at once: no longer than half of what counts as an average.
    const everyMs = isHonest
      ? draws.one([TICK_MS, 1_000, 0.4 * reading.clientReadMs])
      : draws.one([TICK_MS, 1_000]);
    const lastsMs = 3.5 * reading.clientReadMs;
    if (by === 'socket') line.socket.ration(bytesPerS > 0 ? 500 : 0);
    const room = 262_144;
    const bytes = Math.ceil((bytesPerS * lastsMs) / 1_000) + room + FIRST_WINDOW + 100_000;
    const what = `${this.name} takes ${bytesPerS} bytes a second by its ${by} in ${dialect}, each ${everyMs.toFixed()} ms`;
    this.#world.history.tell(this.name, what);
    const path = pathOf(dialect, draws);
    const sent = this.#ask(line, { gateway, dialect, method: 'GET', path, status: 200, bytes });
    const pingMs = draws.percent(30) ? draws.one([500, 2_000]) : Number.POSITIVE_INFINITY;
    const fromMs = this.#world.nowMs;
    let owedMs: number | null = null;
    let [grantedMs, pingedMs] = [fromMs, fromMs];
    while (this.#world.nowMs < fromMs + lastsMs && !line.isGone && sent.asked.endedMs === null) {
      await this.#world.pause(TICK_MS);
      if (bytesPerS > 0 && this.#world.nowMs - grantedMs >= everyMs) {
        line.grant(Math.ceil((bytesPerS * (this.#world.nowMs - grantedMs)) / 1_000));
        grantedMs = this.#world.nowMs;
      }
      if (this.#world.nowMs - pingedMs >= pingMs) {
        line.ping();
        pingedMs = this.#world.nowMs;
      }
      if (isOwed(line)) owedMs ??= this.#world.nowMs;
      if (isHonest || owedMs === null || !isOwed(line)) continue;
      const boundMs = owedMs + reading.clientReadMs * (1 + LATE_PART) + LATE_MS;
      if (this.#world.nowMs < boundMs || !this.#isCalm(gateway, sent.asked)) continue;
      this.#world.wrong('slow', `${what}, and ${gateway.name} has not ended that`);
      break;
    }
    const isCut = line.isGone && line.taken[0]?.isWhole !== true;
    const isSeen = by !== 'socket' || this.#isSeen(line, bytesPerS, everyMs);
    const isServed = line.taken[0]?.status === 200 || line.taken[0]?.status === 101;
    const isMeasured = this.#world.nowMs - fromMs >= MEASURED_MS;
    if (isHonest && isCut && isServed && isSeen && isMeasured && this.#isCalm(gateway, sent.asked))
      this.#world.wrong(
        'hurt',
        `${what}, and ${gateway.name} has ended that after ${(this.#world.nowMs - fromMs).toFixed()} ms`,
      );
    line.socket.destroy();
    this.#end(line);
  }

  /**
   * Whether a gateway can see what it reads: its system tells it, unless that takes up at once what was read, or it takes several writes of the
   * gateway within what counts as an average.
   */
  #isSeen({ socket }: SlothLine, bytesPerS: number, everyMs: number): boolean {
    const { hasTables, clientReadMs } = this.#world.reading;
    const isTold = hasTables && socket.roomBytes / 2 >= (bytesPerS * Math.max(TOLD_MS, 2 * everyMs)) / 1_000;
    return isTold || (bytesPerS * clientReadMs) / 1_000 >= 2 * (socket.roomBytes + WRITE_BYTES);
  }

  /** Has as much wait for it as it can. */
  async #stuff(gateway: WorldGateway, draws: Draws): Promise<void> {
    const lines: SlothLine[] = [];
    for (let left = draws.whole(4, 24); left > 0; left--) {
      const dialect = draws.one(DIALECTS);
      const by = draws.one<Windows['by']>(['socket', 'stream', 'connection']);
      const line = this.#open(gateway, dialect, {
        stream: by === 'stream' ? 0 : WIDE,
        connection: by === 'connection' ? FIRST_WINDOW : WIDE,
        by,
      });
      if (line === null) return;
      if (by === 'socket' || !isOverHttp2(dialect)) line.socket.ration(0);
      lines.push(line);
      for (let i = isOverHttp2(dialect) ? draws.whole(1, 4) : 1; i > 0; i--)
        this.#ask(line, {
          gateway,
          dialect,
          method: 'GET',
          path: pathOf(dialect, draws),
          status: 200,
          bytes: draws.one([50_000, 200_000, 400_000]),
        });
      if (draws.percent(50)) await this.#world.pause(draws.between(1, 400));
    }
    await this.#world.pause(SOON_MS);
    await this.#judgeHeld(gateway);
    await this.#part(lines, draws);
  }

  /** Asks over HTTP/2 for more heads at once than may be in flight, and reads none. */
  async #flood(gateway: WorldGateway, draws: Draws): Promise<void> {
    const { reading } = this.#world;
    const line = this.#open(gateway, 'h2', UNREAD);
    if (line === null) return;
    line.socket.ration(0);
    const path = draws.one([PLENTY.http1, PLENTY.h2]);
    for (let left = draws.one([200, 600, 600]); left > 0; left--) {
      this.#ask(line, { gateway, dialect: 'h2', method: 'HEAD', path, status: 200, bytes: 0 });
      await this.#world.pause(draws.between(1, 4));
    }
    await this.#world.pause(SOON_MS);
    const arrived = line.taken.filter(({ asked }) => asked.arrivals.length > 0).length;
    const waiting = arrived - Math.ceil(line.socket.roomBytes / MIN_HEAD_BYTES);
    if (waiting > reading.maxStreams + AT_ONCE)
      this.#world.wrong(
        'at once',
        `${gateway.name} has ${waiting} heads to write, and a connection may have ${reading.maxStreams}`,
      );
    await this.#judgeHeld(gateway);
    await this.#part([line], draws);
  }

  /** Begins to sign in, again and again, and never says all of it. */
  async #hesitate(gateway: WorldGateway, draws: Draws): Promise<void> {
    const lines: SlothLine[] = [];
    const dialect = draws.one(['http1', 'h2'] as const);
    for (let left = draws.whole(1, 12); left > 0; left--) {
      const old = lines.at(-1);
      const line =
        dialect === 'h2' && old !== undefined && draws.percent(50)
          ? old
          : this.#open(gateway, dialect, { stream: WIDE, connection: WIDE, by: 'socket' });
      if (line === null) return;
      if (line !== old) lines.push(line);
      const asked = this.#begin(gateway, 'POST', REFRESH);
      const fields = [
        ['x-world', asked.id],
        ['content-type', 'application/json'],
      ] as const;
      line.ask({ asked, fields, body: Buffer.alloc(draws.one([1, 5_000, 16_000]), ' '), ends: false });
    }
    await this.#part(lines, draws, 8_000 + 3_000);
  }

  /** Goes, or waits until its gateway has ended all of them. */
  async #part(lines: readonly SlothLine[], draws: Draws, withinMs: number | null = null): Promise<void> {
    const { reading } = this.#world;
    const since = new Map<SlothLine, number>();
    const boundMs = withinMs ?? reading.clientReadMs * (1 + LATE_PART) + LATE_MS;
    const untilMs = this.#world.nowMs + (draws.percent(60) ? boundMs + 1_000 : draws.between(0, 500));
    const pings = draws.percent(50);
    for (let tick = 1; this.#world.nowMs < untilMs && lines.some(line => !line.isGone); tick++) {
      await this.#world.pause(TICK_MS);
      if (pings && tick % 4 === 0) for (const line of lines) line.ping();
      for (const line of lines) {
        const first = line.taken[0]?.asked;
        const isAwaited = withinMs !== null ? line.taken.some(({ status }) => status === 0) : isOwed(line);
        if (line.isGone || first === undefined || !isAwaited) since.delete(line);
        else if (!since.has(line)) since.set(line, this.#world.nowMs);
        const atMs = since.get(line);
        if (atMs === undefined || this.#world.nowMs <= atMs + boundMs || first === undefined) continue;
        since.delete(line);
        if (this.#isCalm(first.gateway, first))
          this.#world.wrong(
            'slow',
            `${first.gateway.name} waits for ${this.name} since ${atMs.toFixed()}: ${first.id}`,
          );
      }
    }
    for (const line of lines) {
      line.socket.destroy();
      this.#end(line);
    }
  }

  #end(line: SlothLine): void {
    for (const { asked, status } of line.taken) {
      if (asked.endedMs !== null) continue;
      asked.endedMs = this.#world.nowMs;
      asked.outcome = 'broken';
      asked.status = status === 0 ? null : status;
    }
  }

  #open(gateway: WorldGateway, dialect: Dialect, windows: Windows): SlothLine | null {
    if (this.#network === null || this.#process === null) return null;
    this.#world.kernel.current = this.#process;
    const port = dialect === 'call' && this.#world.listensForCalls ? CALLS_PORT : 80;
    const socket = this.#network.connect({ host: gateway.host.address, port });
    return isOverHttp2(dialect)
      ? new Http2SlothLine(this.#world, socket, windows)
      : new Http1SlothLine(this.#world, socket);
  }

  #begin(gateway: WorldGateway, method: string, path: string): Asked {
    const id = `${this.name}-${++this.#requests}`;
    this.#world.history.tell(this.name, `asks ${gateway.name} ${method} ${path} ${id}`);
    return this.#world.requests.begin({
      ...{ id, gateway, method, path, token: null, client: this.name, life: gateway.lives.length },
      ...{ mayRepeat: true, sentMs: this.#world.nowMs },
    });
  }

  #ask(line: SlothLine, { gateway, dialect, method: wanted, path, status, bytes }: Wish): Sent {
    const isConnect = dialect === 'h2-web-socket';
    const method = isConnect
      ? 'CONNECT'
      : isCall(dialect)
        ? 'POST'
        : dialect === 'web-socket'
          ? 'GET'
          : wanted;
    const asked = this.#begin(gateway, method, path);
    const fields: (readonly [string, string])[] = isConnect ? [[':protocol', 'websocket']] : [];
    fields.push(['x-world', asked.id], [WANT, `${status} ${bytes}`], ...FIELDS[dialect]);
    const body = isCall(dialect) ? Buffer.from([0, 0, 0, 0, 1, 120]) : Buffer.alloc(0);
    line.ask({ asked, fields, body, ends: !dialect.endsWith('web-socket') });
    const sent = {
      asked,
      upstream: UPSTREAMS.get(path) ?? 'plenty',
      isFew: bytes <= WHOLE_BYTES && !dialect.endsWith('web-socket'),
      line,
      bytes,
    };
    this.#sent.push(sent);
    return sent;
  }

  /** Looks whether a request got through, if all before it are answered. */
  async #judgeArrival({ asked, upstream, line }: Sent): Promise<void> {
    const before = this.#unanswered(asked.gateway).filter(each => each.asked !== asked);
    const { mostRequests } = this.#world.reading;
    // What others have there may be many.
    if (before.length + 1 >= mostRequests || this.#hasOffended || !this.#world.isHealed) return;
    // Who is owed more than its share is not read from.
    if (this.#mostOwed(asked.gateway) > this.#share) return;
    await this.#world.pause(SOON_MS / 4);
    if (asked.arrivals.length > 0 || asked.readMs === null || line.isGone) return;
    await this.#world.pause(SOON_MS);
    if (asked.arrivals.length > 0 || line.isGone || !this.#isCalm(asked.gateway, asked)) return;
    this.#world.wrong(
      'given back',
      `${asked.id} does not get to ${upstream}, where ${before.length} are not answered`,
    );
  }

  /** What it may be owed before nothing more is read from it. */
  get #share(): number {
    return this.#world.reading.bufferedBytes / SHARES / this.#world.workers;
  }

  /** The most that a gateway may count as owed to it. */
  #mostOwed(gateway: WorldGateway): number {
    const isOwn = ({ client, gateway: to, endedMs }: Asked) =>
      client === this.name && to === gateway && endedMs === null;
    const open = this.#sent.filter(({ asked }) => isOwn(asked));
    const lines = new Set(open.map(({ line }) => line)).size;
    return open.reduce((sum, { bytes }) => sum + bytes + STREAM_BYTES, lines * LINE_BYTES);
  }

  /** Looks whether a gateway says that no more is in flight than is not answered. */
  async #judgeHeld(gateway: WorldGateway): Promise<void> {
    const first = this.#sent.findLast(({ asked }) => asked.gateway === gateway)?.asked;
    const held = await this.#held(gateway);
    const { bufferedBytes } = this.#world.reading;
    if (held !== null && held.bytes > bufferedBytes + TURN_BYTES)
      this.#world.wrong(
        'buffered',
        `${gateway.name} counts ${held.bytes} bytes, and ${bufferedBytes} are allowed`,
      );
    if (held === null || first === undefined || !this.#world.isHealed || !this.#isCalm(gateway, first))
      return;
    const open = this.#unanswered(gateway);
    const all = held.inFlight.get('') ?? 0;
    const mostAll = open.length + this.#others(gateway);
    if (all > mostAll)
      this.#world.wrong(
        'given back',
        `${gateway.name} has ${all} requests, of which ${mostAll} are not answered`,
      );
    for (const upstream of new Set(UPSTREAMS.values())) {
      const count = open.filter(each => each.upstream === upstream).length;
      const said = held.inFlight.get(upstream) ?? 0;
      if (said > count)
        this.#world.wrong(
          'given back',
          `${gateway.name} has ${said} requests to ${upstream}, of which ${count} are not answered`,
        );
    }
  }

  #held(gateway: WorldGateway) {
    return this.#network === null ? Promise.resolve(null) : askHeld(this.#network, gateway);
  }

  /** What they have asked of a gateway, and what that may hold a place for: it is not answered, or not whole at the gateway. */
  #unanswered(gateway: WorldGateway): readonly Sent[] {
    const { nowMs } = this.#world;
    return this.#sent.filter(({ asked, isFew }) => {
      if (asked.gateway !== gateway || (asked.endedMs !== null && asked.endedMs < nowMs - 2_000))
        return false;
      return !isFew || asked.givenMs === null || asked.givenMs > nowMs - SOON_MS / 8;
    });
  }

  /** How many requests of others a gateway may have. */
  #others(gateway: WorldGateway): number {
    const { requests, nowMs } = this.#world;
    const own = new Set(this.#sent.map(({ asked }) => asked));
    const isOpen = ({ endedMs }: Asked) => endedMs === null || endedMs > nowMs - GONE_MS;
    return requests.all.filter(each => each.gateway === gateway && isOpen(each) && !own.has(each)).length;
  }

  /** Whether nothing has gone wrong around a request since shortly before it was sent. */
  #isCalm(gateway: WorldGateway, { sentMs, life }: Asked): boolean {
    const { nowMs, wires } = this.#world;
    const isAlive = gateway.lives.length === life && gateway.lives.at(-1)?.untilMs === null;
    const names = [gateway.name, this.#service.name, this.name];
    const isQuiet = names.every(name => wires.weather.wasCalm(name, sentMs - 1_000, nowMs));
    return isAlive && isQuiet && this.#service.bornMs < sentMs;
  }
}

const UPSTREAMS: ReadonlyMap<string, string> = new Map([
  [PLENTY.http1, 'plenty'],
  [PLENTY.h2, 'plenty-h2'],
  [PLENTY.webSocket, 'plenty'],
  [PLENTY.call, 'plenty-calls'],
]);

const WEB_CALL = [
  ['content-type', 'application/grpc-web+proto'],
  ['x-grpc-web', '1'],
] as const;
const FIELDS: Readonly<Record<Dialect, readonly (readonly [string, string])[]>> = {
  ...{ http1: [], h2: [], 'web-call': WEB_CALL, 'h2-web-call': WEB_CALL },
  call: [
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ],
  'web-socket': [
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-version', '13'],
    ['sec-websocket-key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ],
  'h2-web-socket': [['sec-websocket-version', '13']],
};

function isOverHttp2(dialect: Dialect): boolean {
  return dialect === 'call' || dialect.startsWith('h2');
}

function isCall(dialect: Dialect): boolean {
  return dialect.endsWith('call');
}

function pathOf(dialect: Dialect, draws: Draws): string {
  if (isCall(dialect)) return PLENTY.call;
  return dialect.endsWith('web-socket') ? PLENTY.webSocket : draws.one([PLENTY.http1, PLENTY.h2]);
}

/** Whether its gateway waits for it to take something. */
function isOwed(line: SlothLine): boolean {
  return line.isOwed ?? (line.socket.peer?.writableLength ?? 0) > 0;
}
