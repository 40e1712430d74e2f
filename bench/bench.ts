import { mkdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import type { Job } from './peers/job.ts';
import type { Peer, Surroundings } from './peers/peer.ts';
import type { ServerCertificate } from './world/certificate.ts';
import type { Issuer } from './world/issuer.ts';
import { freePort, type Part } from './world/part.ts';

export interface Settings {
  readonly mode: 'full' | 'quick';
  readonly rounds: number;
  /** Duration of one measurement, in whole seconds, because wrk accepts no fractions. */
  readonly seconds: number;
  /** How often the configuration changes in the scenario about that. */
  readonly reloads: number;
  /** The only peers to measure; `null` for all. */
  readonly peers: readonly string[] | null;
  /** Another checkout of Weir to measure in the same rounds; `null` for none. */
  readonly before: string | null;
}

export interface World {
  readonly upstream: Part;
  readonly grpcUpstream: Part;
  readonly webSocketUpstream: Part;
  readonly issuer: Issuer;
  readonly certificate: ServerCertificate;
  /** Null: Redis is not installed. */
  readonly redisUrl: string | null;
  /** For the files of all gateways. */
  readonly directory: string;
}

/** What a scenario works with: the settings, the world around the gateways, and the gateways that it started. */
export class Bench {
  readonly settings: Settings;
  readonly world: World;
  #running: Part[] = [];
  #loadAverages: number[] = [];
  #started = 0;

  constructor(settings: Settings, world: World) {
    this.settings = settings;
    this.world = world;
  }

  /** Starts a gateway with a directory of its own. It runs until `stopAll`. */
  async start(peer: Peer, job: Job): Promise<Part> {
    const part = await peer.start(job, await this.surroundings());
    this.#running.push(part);
    return part;
  }

  /** The surroundings for a new gateway. */
  async surroundings(): Promise<Surroundings> {
    const directory = join(this.world.directory, `gateway-${this.#started++}`);
    await mkdir(directory);
    const { upstream, grpcUpstream, webSocketUpstream, issuer, certificate } = this.world;
    const ports = {
      upstreamPort: upstream.port,
      grpcUpstreamPort: grpcUpstream.port,
      webSocketUpstreamPort: webSocketUpstream.port,
    };
    return { ...ports, issuer, certificate, directory, port: await freePort() };
  }

  /** Registers a gateway that was not started by `start`. */
  adopt(part: Part): void {
    this.#running.push(part);
  }

  async stopAll(): Promise<void> {
    const running = this.#running;
    this.#running = [];
    await Promise.all(running.map(part => part.stop()));
  }

  /**
   * Measures so many rounds. Starts each with a different one, so that none always follows the same neighbour, and other load on
   * the machine affects all of them.
   */
  async inRounds<T>(
    all: readonly T[],
    rounds: number,
    measure: (one: T, round: number) => Promise<unknown>,
  ): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      this.progress(`round ${round + 1} of ${rounds}`);
      this.noteLoad();
      const first = round % Math.max(1, all.length);
      for (const one of [...all.slice(first), ...all.slice(0, first)]) await measure(one, round);
    }
  }

  /** Notes how busy the machine is. Must be called before each round. */
  noteLoad(): void {
    this.#loadAverages.push(loadavg()[0] ?? Number.NaN);
  }

  /** What was noted since the last call. */
  takeLoadAverages(): readonly number[] {
    const taken = this.#loadAverages;
    this.#loadAverages = [];
    return taken;
  }

  /** To standard error, so that the report can be piped. */
  progress(text: string): void {
    console.error(`#   ${text}`);
  }
}
