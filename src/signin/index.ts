export type { AuthResponse } from './auth-response.ts';
export type { ProviderMetadata } from './metadata.ts';
export { type OptionMistake, signInMistakes } from './mistakes.ts';
export {
  type AssertionAlgorithm,
  type ClientAuthentication,
  type EndpointOverrides,
  PROVIDER_DEFAULTS,
  type ProviderOptions,
  type ProviderTls,
  SIGN_IN_DEFAULTS,
  type SignInOptions,
} from './options.ts';
export { Provider, type ProviderParts } from './provider.ts';
export { MAX_REQUEST_BYTES, mediaTypeRefusal } from './request.ts';
export { SignIn, type SignInAnswer, type SignInParts } from './signin.ts';
