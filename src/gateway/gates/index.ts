export { giveUpstreamBack } from './capacity.ts';
export type { GateResult } from './gate.ts';
export { GATES } from './gates.ts';
export { serveOptions } from './options.ts';
export { answersPreflights, servePreflight } from './preflight.ts';
export { webhookOf } from './restrict.ts';
