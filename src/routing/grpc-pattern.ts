import { PatternError, type RoutePattern, type Segment } from './pattern.ts';

/** Stands for the method in patterns of gRPC calls. No request of HTTP has it: see `ROUTABLE_METHODS`. */
export const GRPC_METHOD = 'GRPC';

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * Reads `package.Service/Method`, or `package.Service/*` for every method of a service that no other route names. Letter case
 * is significant, as in protobuf. Throws a PatternError that says what to write instead.
 */
export function parseGrpcPattern(text: string): RoutePattern {
  const [service = '', method, ...more] = text.split('/');
  const error = errorIn(text, service, method, more.length > 0);
  if (error !== null) throw new PatternError(error);
  const segments: readonly Segment[] = [
    { kind: 'literal', folded: service },
    method === EVERY_METHOD
      ? { kind: 'parameter', name: 'method' }
      : { kind: 'literal', folded: method ?? '' },
  ];
  return { methods: [GRPC_METHOD], path: text, segments, parameters: [] };
}

/** Whether a pattern is for gRPC calls. */
export function isGrpc({ methods }: RoutePattern): boolean {
  return methods?.[0] === GRPC_METHOD;
}

/** Stands for every method of a service in a pattern. */
export const EVERY_METHOD = '*';

function errorIn(text: string, service: string, method: string | undefined, more: boolean): string | null {
  if (text.startsWith('/')) return `a service begins without "/": write "${text.slice(1)}"`;
  if (/^https?:/.test(text)) return 'a service has no scheme and host: write package.Service/Method';
  if (service === EVERY_METHOD || text === '**' || text === '')
    return 'name the service: package.Service/Method, or package.Service/* for all of its methods';
  const odd = service.split('.').find(part => !IDENTIFIER.test(part));
  if (odd !== undefined) return `"${service}" is not the name of a service such as package.Service`;
  if (method === undefined) return `the method is missing: write "${text}/*" for every one`;
  if (method === '**' || method === '') return `write "${service}/*" for every method`;
  if (more) return 'a service and a method are all: write package.Service/Method';
  if (method !== EVERY_METHOD && !IDENTIFIER.test(method))
    return `"${method}" is not the name of a method: write "${service}/*" for every one`;
  return null;
}
