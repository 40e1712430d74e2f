import { z } from 'zod';
import type { Snapshot } from '../../config/index.ts';
import type { Reply } from './operation.ts';

export const configSchema = z.strictObject({
  generation: z.int().describe('The number of this configuration in the process, from 1.'),
  hash: z.string().describe('Of the files: equal files, equal hash.'),
  files: z.array(z.string()).describe('gateway.yaml, then the limits files.'),
  gateway: z.record(z.string(), z.unknown()).describe('The keys of gateway.yaml.'),
  limits: z.record(z.string(), z.unknown()).describe('The keys of limits.yaml.'),
});

/** Shows the configuration that serves, with all defaults. */
export async function showConfig({ generation, hash, files, outline }: Snapshot): Promise<Reply> {
  const body = { generation, hash, files, ...(await outline.effective.read()) };
  return { status: 200, body, change: null };
}
