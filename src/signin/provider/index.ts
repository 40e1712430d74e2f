export { askProvider, type ProviderResponse } from './ask.ts';
export { type OAuthError, oauthError, ProviderFault } from './fault.ts';
export { discoveryAddress, type ProviderMetadata } from './metadata.ts';
export { Provider } from './provider.ts';
export { addressError } from './provider-address.ts';
