import { Pool } from 'undici';

const CONNECTIONS = 64;

/**
 * Sends one GET for each token, from this process, and counts the answers by status. It knows each token once, which no
 * load generator does; it is no match for one in speed, but only the gateway's processor time is measured.
 */
export async function sendEach(
  origin: string,
  path: string,
  tokens: readonly string[],
): Promise<ReadonlyMap<number, number>> {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 });
  const statuses = new Map<number, number>();
  const waiting = tokens.values();
  const run = async (): Promise<void> => {
    for (const token of waiting) {
      const headers = { authorization: `Bearer ${token}` };
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
      await body.dump();
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  await pool.close();
  return statuses;
}
