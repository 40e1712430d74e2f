import { compareNeutral, compareStrictness } from '../difference.ts';
import { yesOrNo } from '../values/index.ts';
import { routePolicy } from './policy.ts';

/**
 * `cors` and `grpc_web`: whether web pages may use the route. `cors` of gateway.yaml applies to gRPC calls only if browsers can
 * make them; `weir explain` describes it there.
 */
export const routeCors = routePolicy({
  keys: {
    cors: yesOrNo(true).describe(
      'Whether "cors" applies to it. false: the upstream answers preflights, which reach it without a token, and writes the fields itself. With "grpc" it needs "grpc_web: true", and false keeps pages of other origins out.',
    ),
    grpc_web: yesOrNo(false).describe(
      'Whether its gRPC calls may also come as gRPC-Web, as browsers send them, over HTTP/1.1 and HTTP/2 on listen.http. Only with "grpc".',
    ),
  },
  ruledOut: {
    cors: ({ route, defaults }) => route.grpc !== undefined && (route.grpc_web ?? defaults.grpc_web) !== true,
  },
  compile: ({ cors }) => ({ cors, grpcWeb: false }),
  compileCall: ({ cors, grpc_web: grpcWeb }) => ({ cors: cors && grpcWeb, grpcWeb }),
  check(route) {
    const { grpc, cors, grpc_web: grpcWeb } = route.raw;
    if (grpc === undefined && grpcWeb !== undefined)
      route.addKey('grpc_web', 'only routes with "grpc" take gRPC-Web: leave it out');
    if (grpc !== undefined && cors !== undefined && grpcWeb !== true)
      route.addKey('cors', '"cors" does not apply to gRPC calls without "grpc_web: true": leave it out');
  },
  describe: ({ grpcWeb }) => ({
    'gRPC-Web': grpcWeb ? 'taken on listen.http, also over HTTP/1.1, and sent to the service as gRPC' : null,
  }),
  compare: (now, before) => [
    now.grpcWeb === before.grpcWeb ? compareNeutral('cors', now.cors, before.cors) : null,
    compareStrictness(!now.grpcWeb, !before.grpcWeb, 'takes no gRPC-Web'),
  ],
});
