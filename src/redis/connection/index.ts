export { Health, Replicas } from './health.ts';
export {
  defineScript,
  RedisConnection,
  RedisError,
  type RedisScript,
  type ReplyCallback,
  type Subscriber,
} from './redis-connection.ts';
