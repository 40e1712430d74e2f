import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LoadGenerator, unexpected } from './plan.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, '../servers/autocannon.ts');

/** autocannon in a process of its own. */
export const autocannon: LoadGenerator = {
  name: 'autocannon',
  async run(plan, port, seconds) {
    const { stdout } = await run(process.execPath, [PROGRAM, JSON.stringify({ plan, port, seconds })]);
    const told: AutocannonResponse = JSON.parse(stdout);
    const failures = told.errors + unexpected(plan, told.requests, told.other);
    return { requests: told.requests, failures };
  },
};

/** What `servers/autocannon.ts` prints. */
export interface AutocannonResponse {
  readonly requests: number;
  readonly errors: number;
  /** Responses with a status other than 2xx. */
  readonly other: number;
}
