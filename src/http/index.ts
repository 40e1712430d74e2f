export { AddressSet, addressKey, clientAddress, normalizeAddress } from './address.ts';
export { keepAnswerFields, keepTrailerFields } from './answer-fields.ts';
export { ForwardingRules } from './forwarding-rules.ts';
export { type Framing, type Refusal, requestFraming } from './framing.ts';
export { isPlainHost } from './host.ts';
export { RequestHead } from './request-head.ts';
export { parseTarget, type Target } from './target.ts';
export { type Provenance, upstreamFields } from './upstream-fields.ts';
