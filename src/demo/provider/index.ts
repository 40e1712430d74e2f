export { BOT_CLIENT, startProvider } from './demo-provider.ts';
