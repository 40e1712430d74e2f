import { get } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { waitFor } from './wait.ts';
import {
  type ConnectOptions,
  connectRaw,
  type RawClient,
  type Response,
  type ResponseOptions,
} from './wire/index.ts';

/** A running gateway, seen from outside. */
export class TestGateway {
  readonly port: number;
  readonly adminPort: number;

  constructor(port: number, adminPort: number) {
    this.port = port;
    this.adminPort = adminPort;
  }

  /** A raw connection that the end of the running test closes. */
  connect({
    port = this.port,
    ...options
  }: ConnectOptions & { readonly port?: number } = {}): Promise<RawClient> {
    return connectRaw(port, options);
  }

  /** Sends a request on a connection of its own and reads the response. */
  async ask(bytes: string | Buffer, options: ResponseOptions & ConnectOptions = {}): Promise<Response> {
    const client = await this.connect(options);
    const response = await client.ask(bytes, options);
    client.destroy();
    return response;
  }

  /** Body of a GET on the admin listener. Tests look often, and `fetch` would be a tenth of what they take. */
  admin(path: string): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((done, fail) => {
      // A connection that is kept may be closed by the gateway just as it is used again.
      const asked = get({ host: '127.0.0.1', port: this.adminPort, path, agent: false }, response => {
        const answer = buffer(response).then(bytes => ({
          status: response.statusCode ?? 0,
          text: bytes.toString(),
        }));
        answer.then(done, fail);
      });
      asked.on('error', fail);
    });
  }

  /** Waits until the gateway says that it is ready. */
  ready(): Promise<void> {
    return waitFor('the gateway is ready', async () => (await this.admin('/readyz')).status === 200);
  }

  /** The samples of one metric: label part (`{route="..."}` or '') to value. */
  async metric(name: string): Promise<Map<string, number>> {
    const samples = new Map<string, number>();
    // Names of a histogram's samples end with what they count.
    const path = `/metrics?name[]=${name}&name[]=${name.replace(/_(?:bucket|sum|count)$/, '')}`;
    for (const line of (await this.admin(path)).text.split('\n')) {
      const match = /^([a-zA-Z0-9_:]+)(\{.*\})? (\S+)$/.exec(line);
      if (match?.[1] === name) samples.set(match[2] ?? '', Number(match[3]));
    }
    return samples;
  }

  /** Those samples that are not 0: series whose labels are known are there from the start. */
  async counted(name: string): Promise<Map<string, number>> {
    return this.countedSince(new Map(), name);
  }

  /** By how much they have grown since they were `before`, where they have. */
  async countedSince(before: ReadonlyMap<string, number>, name: string): Promise<Map<string, number>> {
    const grown = [...(await this.metric(name))].map(
      ([labels, value]) => [labels, value - (before.get(labels) ?? 0)] as const,
    );
    return new Map(grown.filter(([, more]) => more !== 0));
  }
}
