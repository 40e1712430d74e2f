import type { TestGateway } from './test-gateway.ts';
import type { ConnectOptions } from './wire/index.ts';

/** Sent before the first of their responses is read: fewer than the gateway lets wait on a connection. */
const PIPELINED = 50;

export interface FloodOptions extends ConnectOptions {
  /** Default 4. */
  readonly connections?: number;
}

/** Sends this many requests, pipelined on several connections, and counts the responses by status. */
export async function flood(
  gateway: TestGateway,
  count: number,
  request: (index: number) => string,
  options: FloodOptions = {},
): Promise<ReadonlyMap<number, number>> {
  const { connections = 4, ...from } = options;
  const statuses = new Map<number, number>();
  let sent = 0;
  const run = async (): Promise<void> => {
    const client = await gateway.connect(from);
    while (sent < count) {
      const batch: string[] = [];
      while (batch.length < PIPELINED && sent < count) batch.push(request(sent++));
      void client.send(batch.join(''));
      for (const _ of batch) {
        const { status } = await client.answer();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    client.destroy();
  };
  await Promise.all(Array.from({ length: connections }, run));
  return statuses;
}
