import { setTimeout as sleep } from 'node:timers/promises';
import type { Narrator, Step, StepAnswer } from './narrator.ts';

/** The demo's limits.yaml lets a user write three messages to a channel in five seconds; more than this is not it. */
const MAX = 10;
const BUCKET_FIELDS = ['limit', 'remaining', 'reset', 'reset-after', 'bucket', 'scope'];

/** Sends this until it is refused, waits as it is told, and sends it once more. */
export async function walkIntoLimit(narrator: Narrator, step: Step): Promise<void> {
  narrator.step('The user writes to another channel, and goes on writing until the gateway refuses.');
  let answer = await narrator.ask(step);
  narrator.check('201, with the six headers of the limit', answer.status === 201 && tellsBucket(answer));
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
  narrator.check(
    'the same bucket',
    tellsBucket(answer) && answer.headers.get('x-ratelimit-bucket') === bucket,
  );
  narrator.check('retry_after in the body, and Retry-After rounded up from it', tellsWait(answer, waitS));

  narrator.step(`It waits for the ${waitS} seconds that it was told, and writes once more.`);
  await sleep(waitS * 1_000);
  narrator.check('201', (await narrator.ask(step)).status === 201);
}

function tellsBucket({ headers }: StepAnswer): boolean {
  return BUCKET_FIELDS.every(name => headers.has(`x-ratelimit-${name}`));
}

function tellsWait({ headers }: StepAnswer, waitS: number): boolean {
  return waitS > 0 && headers.get('retry-after') === `${Math.ceil(waitS)}`;
}
