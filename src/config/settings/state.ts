import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { formatDuration } from '../../core/index.ts';
import { asMap } from '../file/index.ts';
import { duration, text } from '../values/index.ts';
import { setting } from './setting.ts';
import { store as stores } from './store.ts';

const FOLDER =
  'expected a folder such as /var/lib/weir, or a map such as { folder: /var/lib/weir, counters: 1h }';

/** `state`: what is kept across a restart; `null` if nothing is. */
export const state = setting({
  keys: {
    state: z
      .union(
        [
          text(FOLDER),
          z.strictObject({
            folder: text(FOLDER).describe('The folder, relative to this file.'),
            counters: duration({ min: '1m', max: '24h' })
              .optional()
              .describe(
                'The shortest window whose counters are kept as well. Left out: every window starts over. With Redis they are there.',
              ),
          }),
        ],
        {
          error: FOLDER,
        },
      )
      .optional()
      .describe(
        'The folder of files that keep what a gateway must not forget over a restart: revoked tokens, ended sessions, restrictions and lifts. Relative to this file. Left out: nothing is kept. Changes take effect after a restart.',
      ),
  },
  check({ state, store }, file) {
    if (asMap(state).counters === undefined || store === undefined || store === 'memory') return;
    const message = 'with Redis limits are counted there, and outlive a restart: "counters" changes nothing';
    file.addKey(['state', 'counters'], message, 'warning');
  },
  compile({ state }, { gatewayFile, written }): { readonly state: StateModel | null } {
    if (state === undefined) return { state: null };
    const { folder, counters = null } = typeof state === 'string' ? { folder: state } : state;
    const countsInMemory = written(stores).store === 'memory';
    return {
      state: { folder: resolve(dirname(gatewayFile), folder), countersMs: countsInMemory ? counters : null },
    };
  },
  needsRestart: [
    {
      key: 'state',
      value: ({ state }) => state,
      written: ({ state }) => (state === null ? 'nothing is kept' : stateInWords(state)),
    },
  ],
});

export interface StateModel {
  readonly folder: string;
  /** The shortest window whose counters are kept; `null` if none are. */
  readonly countersMs: number | null;
}

function stateInWords({ folder, countersMs }: StateModel): string {
  return countersMs === null ? folder : `${folder}, counters: ${formatDuration(countersMs)}`;
}
