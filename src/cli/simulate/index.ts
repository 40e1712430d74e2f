export { simulate } from './simulate.ts';
