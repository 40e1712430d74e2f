import { join } from 'node:path';
import { freePort, type Part, startNode } from '../../bench/world/part.ts';
import { type DemoProvider, startProvider } from '../../src/cli/demo/provider/demo-provider.ts';
import { type RedisServer, startRedis } from '../../test/support/redis.ts';

const SERVERS = join(import.meta.dirname, '../../bench/servers');

/** A server of the world, which can be ended and started again at the same port. */
export class Service {
  readonly port: number;
  readonly #file: string;
  readonly #environment: Readonly<Record<string, string>>;
  #part: Part | null = null;

  constructor(port: number, file: string, environment: Readonly<Record<string, string>> = {}) {
    this.port = port;
    this.#file = join(SERVERS, file);
    this.#environment = environment;
  }

  async start(): Promise<void> {
    this.#part = await startNode(this.#file, this.port, this.#environment);
  }

  /** Its connections break wherever they are. */
  async stop(): Promise<void> {
    await this.#part?.stop();
  }
}

/** Everything behind the gateway. */
export interface Services {
  readonly fast: Service;
  readonly slow: Service;
  readonly calls: Service;
  readonly webSockets: Service;
  readonly redis: RedisServer;
  readonly provider: Provider;
  close(): Promise<void>;
}

/** Signs in alice and bob. After it was away, it has other keys. */
export class Provider {
  readonly port: number;
  readonly redirectUri: string;
  #running: DemoProvider | null = null;

  constructor(port: number, redirectUri: string) {
    this.port = port;
    this.redirectUri = redirectUri;
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}/realms/demo`;
  }

  async start(): Promise<void> {
    const { port, redirectUri } = this;
    this.#running = await startProvider({ port, redirectUris: [redirectUri], accessTokenSeconds: 120 });
  }

  async stop(): Promise<void> {
    await this.#running?.close();
    this.#running = null;
  }
}

export async function startServices(): Promise<Services> {
  const fast = new Service(await freePort(), 'upstream.ts');
  const slow = new Service(await freePort(), 'upstream.ts', { DELAY_MS: '100' });
  const calls = new Service(await freePort(), 'grpc-upstream.ts');
  const webSockets = new Service(await freePort(), 'websocket-upstream.ts');
  const provider = new Provider(await freePort(), 'https://app.example/callback');
  const own = [fast, slow, calls, webSockets, provider];
  for (const service of own) await service.start();
  const redis = await startRedis();
  process.on('exit', () => void redis.kill());
  const close = async () => {
    for (const service of own) await service.stop();
    await redis.close();
  };
  return { fast, slow, calls, webSockets, provider, redis, close };
}
