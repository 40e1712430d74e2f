export { serveExchange } from './serve-exchange.ts';
