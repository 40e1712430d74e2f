export { BOT_CLIENT, startProvider } from './provider.ts';
