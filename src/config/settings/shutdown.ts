import { duration, section } from '../values/index.ts';
import { setting } from './setting.ts';

export const shutdown = setting({
  keys: {
    shutdown: section('How the gateway stops.', {
      delay: duration({ min: '0ms', otherwise: '0s' }).describe(
        'After SIGTERM the gateway reports that it is not ready, but keeps serving for this long before it stops listening. Meanwhile clients are asked to reconnect; WebSockets are closed one after the other until half of drain is over.',
      ),
      drain: duration({ min: '0ms', otherwise: '25s' }).describe(
        'How long requests in flight may take to finish after that; then they are cut off.',
      ),
    }),
  },
  compile: ({ shutdown: { delay, drain } }) => ({
    shutdown: Object.freeze({ delayMs: delay, drainMs: drain }),
  }),
});
