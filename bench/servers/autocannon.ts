// One run of autocannon: takes what to send as JSON, prints what happened as JSON.
import autocannon from 'autocannon';
import type { AutocannonResponse } from '../load/autocannon.ts';
import { type LoadPlan, urlOf } from '../load/plan.ts';

interface Question {
  readonly plan: LoadPlan;
  readonly port: number;
  readonly seconds: number;
}

const { plan, port, seconds }: Question = JSON.parse(process.argv[2] ?? '');
const type = plan.bodyBytes === 0 ? {} : { 'Content-Type': 'application/octet-stream' };
const result = await autocannon({
  url: urlOf(plan, port),
  method: plan.method,
  headers: { ...plan.headers, ...type },
  ...(plan.bodyBytes === 0 ? {} : { body: '-'.repeat(plan.bodyBytes) }),
  connections: plan.connections,
  duration: seconds,
  timeout: 30,
});
const response: AutocannonResponse = {
  requests: result.requests.total,
  errors: result.errors + result.timeouts,
  other: result.non2xx,
};
console.log(JSON.stringify(response));
