import type { Application } from '../application.ts';
import { boto3 } from './boto3.ts';
import { dockerRegistry } from './docker-registry.ts';
import { etcd } from './etcd.ts';
import { git } from './git.ts';
import { gradio } from './gradio.ts';
import { graphqlWs } from './graphql-ws.ts';
import { grpcJs } from './grpc-js.ts';
import { httpie, requests } from './httpbin.ts';
import { jupyterLab } from './jupyterlab.ts';
import { litmus } from './litmus.ts';
import { mercurial } from './mercurial.ts';
import { mlflow } from './mlflow.ts';
import { nodeRed } from './node-red.ts';
import { pgAdmin } from './pgadmin.ts';
import { pypiServer } from './pypiserver.ts';
import { radicale } from './radicale.ts';
import { restic } from './restic.ts';
import { socketIo } from './socket-io.ts';
import { streamlit } from './streamlit.ts';
import { subversion } from './subversion.ts';
import { tus } from './tus.ts';
import { verdaccio } from './verdaccio.ts';
import { vite } from './vite.ts';
import { wsgiDav } from './wsgidav.ts';

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
  boto3,
  jupyterLab,
  radicale,
  wsgiDav,
  requests,
  httpie,
  pypiServer,
  streamlit,
  gradio,
  mlflow,
  pgAdmin,
];
