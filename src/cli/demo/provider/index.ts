export { BOT_CLIENT, GATEWAY_CLIENT, startProvider } from './demo-provider.ts';
export { PEOPLE } from './realm.ts';
