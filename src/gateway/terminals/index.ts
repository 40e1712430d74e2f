export { serve } from './serve-exchange.ts';
