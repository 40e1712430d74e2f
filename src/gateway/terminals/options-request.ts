import type { Exchange, OptionsHere, Served } from '../exchange/index.ts';
import { addOwnFields, USUAL_METHODS } from '../responses/index.ts';

/** Serves an OPTIONS that goes no further: lists the methods. */
export function serveOptions(exchange: Exchange, { route, path }: OptionsHere): Served {
  const { routes } = exchange.snapshot;
  // OPTIONS is one of them, since this answers it.
  const isServed = (method: string) =>
    route === null || method === 'OPTIONS' || routes.find(method, path) !== null;
  const fields = ['Allow', USUAL_METHODS.filter(isServed).join(', ')];
  addOwnFields(fields, exchange, exchange.rate);
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}
