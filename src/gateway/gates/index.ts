export { withoutAuthentication } from './authorise.ts';
export type { GateResult } from './gate.ts';
export { GATES } from './gates.ts';
export { rememberedCaller } from './identity.ts';
export { upstreamCapacity } from './upstream.ts';
