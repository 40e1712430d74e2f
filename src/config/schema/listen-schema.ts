import { z } from 'zod';

import type { ListenerModel } from '../model/index.ts';
import { mapSuchAs } from './plain-values.ts';
import { hostPort, hostPortOrOff } from './scalars.ts';

const AS_MAP = 'or a map such as { address: 0.0.0.0:8080 }';

const listenerKeys = {
  address: hostPort().describe('Where it listens: host:port. Port 0 takes a free one, which is logged.'),
};

/** An address alone, or a map of the address and what is spoken there. */
function listener() {
  const error = `expected host:port such as 0.0.0.0:8080, ${AS_MAP}`;
  return z
    .union([hostPort(), z.strictObject(listenerKeys)], { error })
    .transform((value): ListenerModel => ('address' in value ? value : { address: value }));
}

function listenerOrOff() {
  const error = `expected off, host:port such as 127.0.0.1:9090, ${AS_MAP}`;
  return z
    .union([hostPortOrOff(), z.strictObject(listenerKeys)], { error })
    .transform((value): ListenerModel | null =>
      value === null || 'address' in value ? value : { address: value },
    );
}

/** `listen` of gateway.yaml. */
export const listenSchema = z.strictObject(
  {
    http: listener()
      .prefault('0.0.0.0:8080')
      .describe('Where clients connect: host:port, or a map. A change of the address waits for a restart.'),
    admin: listenerOrOff()
      .prefault('127.0.0.1:9090')
      .describe(
        'Where metrics and health are served, for the platform only: host:port, or off. A change waits for a restart.',
      ),
  },
  mapSuchAs('{ http: 0.0.0.0:8080 }'),
);
