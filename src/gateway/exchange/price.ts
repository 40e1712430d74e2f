import type { PriceModel } from '../../config/index.ts';
import { allValues, type Fields, listMembers, withoutFields } from '../../core/index.ts';
import type { Limit } from '../../limits/index.ts';
import type { RateReport } from '../responses/index.ts';

/** How the response of an admitted request names the price. */
export interface Price extends PriceModel {
  /** The units consumed when the request was admitted. */
  readonly reserve: number;
  /** The state of the bucket for the client, if this is the price. */
  describeAt(cost: number): Described;
}

/** The state of a bucket, and the limit that decides it. */
export interface Described {
  readonly rate: RateReport | null;
  readonly described: Limit | null;
}

/** Reads the price in the fields of a response. `wrong`: anything but one whole number. */
export function priceIn(fields: Fields, name: string): number | 'untold' | 'wrong' {
  const [told, ...others] = allValues(fields, name);
  if (told === undefined) return 'untold';
  return others.length === 0 && /^\d+$/.test(told.trim()) ? Number(told) : 'wrong';
}

/** The fields without the price, and without its name in `Trailer`. */
export function withoutPriceIn(fields: Fields, name: string): Fields {
  const announced = listMembers(fields, 'trailer');
  const others = announced.filter(trailer => trailer.toLowerCase() !== name);
  const isAnnounced = others.length < announced.length;
  const kept = withoutFields(fields, field => {
    const lower = field.toLowerCase();
    return lower === name || (isAnnounced && lower === 'trailer');
  });
  if (isAnnounced && others.length > 0) kept.push('Trailer', others.join(', '));
  return kept;
}
