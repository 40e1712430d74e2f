export type { Allowances } from './allowances.ts';
export { Blocked } from './blocked.ts';
export {
  type Generation,
  isReady,
  type RequestGeneration,
  type RequestIdentity,
  transportTo,
} from './generation.ts';
export { Generations } from './generations.ts';
export { Identity } from './identity.ts';
export { type Claim, claimOn, drawsOf, globalClaim, type LimitedRequest } from './limit-claim.ts';
export { Limiting } from './limiting.ts';
export { followLimits, memoryCounters } from './memory-counters.ts';
export { isInvalid, type LimitedBy, noteRefusal } from './offences.ts';
export { Overload } from './overload.ts';
export { Restricting } from './restricting.ts';
export type { SharedStore } from './shared-store.ts';
