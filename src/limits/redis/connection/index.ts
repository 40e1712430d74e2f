export { Health, Replicas } from './health.ts';
export * from './redis-connection.ts';
export { REPLY_FORMAT, readNumbers, readReply, unexpectedReply } from './replies.ts';
