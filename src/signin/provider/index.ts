export { askProvider, jsonMembers, type ProviderResponse, secureContextOf } from './ask.ts';
export { type OAuthError, oauthError, ProviderFault } from './fault.ts';
export { addressError, discoveryAddress, type ProviderMetadata } from './metadata.ts';
export { Provider } from './provider.ts';
