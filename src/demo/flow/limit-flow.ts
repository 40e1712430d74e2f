import { setTimeout as sleep } from 'node:timers/promises';
import type { Narrator, Step, StepResponse } from './narrator.ts';

/** The maximum number of attempts: the demo's limits.yaml allows three messages to a channel in five seconds. */
const MAX = 10;
const BUCKET_FIELDS = ['limit', 'remaining', 'reset', 'reset-after', 'bucket', 'scope'];

/** Sends a request until it is refused, waits as long as the response says, and sends it again. */
export async function walkIntoLimit(narrator: Narrator, step: Step): Promise<void> {
  narrator.step('The user keeps writing to another channel until the gateway refuses.');
  let response = await narrator.ask(step);
  narrator.check(
    '201, with the six X-RateLimit headers of the limit',
    response.status === 201 && hasBucket(response),
  );
  const limit = response.headers.get('x-ratelimit-limit');
  const bucket = response.headers.get('x-ratelimit-bucket');
  let admitted = 0;
  while (response.status === 201 && admitted < MAX) {
    admitted += 1;
    response = await narrator.ask(step);
  }
  const waitS = Number(response.members.get('retry_after'));
  narrator.check(
    `429 after ${limit} messages, as X-RateLimit-Limit says`,
    response.status === 429 && `${admitted}` === limit,
  );
  narrator.check(
    'the same bucket',
    hasBucket(response) && response.headers.get('x-ratelimit-bucket') === bucket,
  );
  narrator.check('retry_after in the body, and Retry-After rounded up from it', hasWait(response, waitS));

  narrator.step(`The client waits for the ${waitS} seconds that the response asks for, then writes again.`);
  await sleep(waitS * 1_000);
  await narrator.ask(step, 201);
}

function hasBucket({ headers }: StepResponse): boolean {
  return BUCKET_FIELDS.every(name => headers.has(`x-ratelimit-${name}`));
}

function hasWait({ headers }: StepResponse, waitS: number): boolean {
  return waitS > 0 && headers.get('retry-after') === `${Math.ceil(waitS)}`;
}
