import { Connection } from './connection.ts';

/**
 * Sends each request once, from this process, and counts the responses by status: no load generator knows how to send every
 * request only once. It is no match for one in speed, but only the gateway's processor time is measured.
 */
export async function sendEach(
  port: number,
  requests: Generator<string>,
  connections: number,
): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>();
  const worker = async (): Promise<void> => {
    const connection = await Connection.open(port);
    // All workers take from the same iterator.
    for (;;) {
      const { value, done } = requests.next();
      if (done === true) break;
      const status = await connection.ask(value);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return statuses;
}
