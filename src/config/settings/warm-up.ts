import { formatDuration } from '../../core/index.ts';
import { duration } from '../values/index.ts';
import { setting } from './setting.ts';

/** `warm_up`: how long a new gateway plays requests to itself before it serves; `null` if it does not. */
export const warmUp = setting({
  keys: {
    warm_up: duration({ min: '10ms', max: '10s' })
      .optional()
      .describe(
        'How long each thread that serves plays requests to itself before it is ready, so that its code is compiled when the first client comes. Nothing of them is sent on, counted or logged. Left out: off. Changes take effect after a restart.',
      ),
  },
  compile: ({ warm_up: warmUpMs = null }): { readonly warmUpMs: number | null } => ({ warmUpMs }),
  needsRestart: [
    {
      key: 'warm_up',
      value: ({ warmUpMs }) => warmUpMs,
      written: ({ warmUpMs }) => (warmUpMs === null ? 'off' : formatDuration(warmUpMs)),
    },
  ],
});
