export { AddressSet, addressKey, clientAddress, normalizeAddress } from './address.ts';
export { type AnswerPolicy, keepAnswerFields } from './answer-fields.ts';
export { type CorsRules, corsFields, isPreflight, preflightFields } from './cors.ts';
export { ForwardingRules } from './forwarding-rules.ts';
export { type Framing, type Refusal, requestFraming } from './framing.ts';
export { isPlainHost } from './host.ts';
export { RequestHead } from './request-head.ts';
export { decodeSegment, parseTarget, type Target } from './target.ts';
export { type Provenance, upstreamFields } from './upstream-fields.ts';
