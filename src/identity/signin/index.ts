export { RESERVED_PARAMETERS } from './authorization-url.ts';
export { type Activity, Introspection, type SharedAnswer, type SharedQuestion } from './introspection.ts';
export { type OptionError, optionErrors } from './option-errors.ts';
export * from './options.ts';
export { announcedScopes, Provider, type ProviderMetadata } from './provider.ts';
export { MAX_REQUEST_BYTES, mediaTypeRefusal } from './read-request.ts';
export { hasAnyPort } from './redirect-uris.ts';
export { SignIn, type SignInResponse } from './signin.ts';
export type { LearntMark } from './token-request.ts';
