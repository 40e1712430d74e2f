import { setTimeout as sleep } from 'node:timers/promises';
import type { Narrator, Step, StepAnswer } from './narrator.ts';

/** Gives up after this many: the demo's limits.yaml allows three messages to a channel in five seconds. */
const MAX = 10;
const BUCKET_FIELDS = ['limit', 'remaining', 'reset', 'reset-after', 'bucket', 'scope'];

/** Sends a request until it is refused, waits as long as the answer says, and sends it again. */
export async function walkIntoLimit(narrator: Narrator, step: Step): Promise<void> {
  narrator.step('The user keeps writing to another channel until the gateway refuses.');
  let answer = await narrator.ask(step);
  narrator.check(
    '201, with the six X-RateLimit headers of the limit',
    answer.status === 201 && hasBucket(answer),
  );
  const limit = answer.headers.get('x-ratelimit-limit');
  const bucket = answer.headers.get('x-ratelimit-bucket');
  let admitted = 0;
  while (answer.status === 201 && admitted < MAX) {
    admitted += 1;
    answer = await narrator.ask(step);
  }
  const waitS = Number(answer.members.get('retry_after'));
  narrator.check(
    `429 after ${limit} messages, as X-RateLimit-Limit says`,
    answer.status === 429 && `${admitted}` === limit,
  );
  narrator.check('the same bucket', hasBucket(answer) && answer.headers.get('x-ratelimit-bucket') === bucket);
  narrator.check('retry_after in the body, and Retry-After rounded up from it', hasWait(answer, waitS));

  narrator.step(`The client waits for the ${waitS} seconds that the answer asks for, then writes again.`);
  await sleep(waitS * 1_000);
  narrator.check('201', (await narrator.ask(step)).status === 201);
}

function hasBucket({ headers }: StepAnswer): boolean {
  return BUCKET_FIELDS.every(name => headers.has(`x-ratelimit-${name}`));
}

function hasWait({ headers }: StepAnswer, waitS: number): boolean {
  return waitS > 0 && headers.get('retry-after') === `${Math.ceil(waitS)}`;
}
