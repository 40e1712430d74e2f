import { z } from 'zod';
import { parseQuota, type Quota, QuotaError } from '../../../limits/index.ts';
import { QUOTA_OR_OFF_PATTERN, QUOTA_PATTERN } from './editor-patterns.ts';
import { refuseQuoting } from './refuse.ts';

/** A quota such as `20/5s`. */
export function quota() {
  return z
    .string({ error: 'expected a number and a period such as 20/5s' })
    .meta({ pattern: QUOTA_PATTERN })
    .transform((text, context) => readQuota(text, context));
}

/** `off`, read as null, or a quota such as `1000/1m`. */
export function quotaOrOff() {
  return z
    .string({ error: 'expected off, or a number and a period such as 1000/1m' })
    .meta({ pattern: QUOTA_OR_OFF_PATTERN })
    .transform((text, context) => (text === 'off' ? null : readQuota(text, context)));
}

function readQuota(text: string, context: z.RefinementCtx): Quota {
  try {
    return parseQuota(text);
  } catch (error) {
    if (!(error instanceof QuotaError)) throw error;
    refuseQuoting(context, error.message, 'a number and a period such as 20/5s');
    return z.NEVER;
  }
}
