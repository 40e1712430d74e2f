export { LimitsText, type QuotaChange } from './limits-text.ts';
