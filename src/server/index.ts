export { HttpListener } from './http-listener.ts';
