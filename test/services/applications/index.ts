import type { Application } from '../application.ts';
import { dockerRegistry } from './docker-registry.ts';
import { etcd } from './etcd.ts';
import { git } from './git.ts';
import { graphqlWs } from './graphql-ws.ts';
import { grpcJs } from './grpc-js.ts';
import { litmus } from './litmus.ts';
import { mercurial } from './mercurial.ts';
import { nodeRed } from './node-red.ts';
import { restic } from './restic.ts';
import { socketIo } from './socket-io.ts';
import { subversion } from './subversion.ts';
import { tus } from './tus.ts';
import { verdaccio } from './verdaccio.ts';
import { vite } from './vite.ts';

/** The rows of the table in docs/services.md. */
export const APPLICATIONS: readonly Application[] = [
  git,
  mercurial,
  subversion,
  litmus,
  socketIo,
  verdaccio,
  dockerRegistry,
  etcd,
  grpcJs,
  nodeRed,
  graphqlWs,
  tus,
  vite,
  restic,
];
