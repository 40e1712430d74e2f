import type { Outcome } from '../config/index.ts';
import { firstValue } from '../core/index.ts';
import { type Exchange, RateLimitError } from '../gateway/index.ts';
import type { Asked } from './test-gateway.ts';

/** What the gateway decided about a request: admitted, or why it refused. */
export function outcomeOf({ response, ruling, destination, upstreamLeg }: Exchange): Outcome {
  const { error } = response;
  if (error instanceof RateLimitError) {
    if (error.restrictedBy !== null)
      return error.restrictedBy.startsWith('blocked') ? 'blocked' : 'restricted';
    if (ruling === null || ruling.outcome === 'admitted') return 'refused';
    return ruling.outcome === 'caller' ? 'bucket' : ruling.outcome;
  }
  const isServed = upstreamLeg !== null || destination.kind === 'sign-in';
  return isServed && ruling?.outcome === 'admitted' ? 'admitted' : 'refused';
}

/** What would have refused an admitted request if it were not in shadow, in the words of a test. */
export function shadowOf({ shadowRefusals }: Exchange): readonly string[] {
  return shadowRefusals.map(by => (by === 'caller' ? 'bucket' : by));
}

/** In milliseconds; null: the response says none. */
export function retryAfterMs({ response: { error } }: Exchange): number | null {
  return error instanceof RateLimitError ? error.retryAfterMs : null;
}

/** The values of a field of the response, which may have come several times; null: it has none. */
export function fieldOf({ fields }: Asked, name: string): string | null {
  const lowerName = name.toLowerCase();
  if (firstValue(fields, lowerName) === undefined) return null;
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === lowerName).join(', ');
}
