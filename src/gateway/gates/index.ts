export { giveUpstreamBack } from './capacity.ts';
export type { Gate, GateResult } from './gate.ts';
export { gatesOf } from './gates.ts';
export { serveOptions } from './options.ts';
export { answersPreflights, servePreflight } from './preflight.ts';
export { webhookOf } from './restrict.ts';
