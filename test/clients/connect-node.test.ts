import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { startGrpcServer } from '../support/grpc.ts';
import { webRoute } from '../support/grpc-web.ts';
import { H2C } from '../support/http2-client.ts';
import { tempFolder } from '../support/temp.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';

type Done = (error: object | null, message?: Buffer) => void;

/** Sends back what comes; a text `fail` or `wait` does so instead. */
function startEcho(): Promise<number> {
  return startGrpcServer({
    Unary: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: Done) => {
      const text = request.toString();
      if (text.endsWith('fail')) done({ code: 9, details: 'no' });
      else if (!text.endsWith('wait')) done(null, request);
    },
    Download: (call: ServerWritableStream<Buffer, Buffer>) => {
      for (let i = 0; i < 100; i++) call.write(call.request);
      call.end();
    },
    Upload: (call: ServerReadableStream<Buffer, Buffer>, done: Done) => {
      let last = Buffer.alloc(0);
      call.on('data', message => {
        last = message;
      });
      call.on('end', () => done(null, last));
    },
    Talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', message => call.write(message));
      call.on('end', () => call.end());
    },
  });
}

async function start(security: 'cleartext' | 'TLS'): Promise<string[]> {
  const port = await startEcho();
  if (security === 'cleartext') {
    const gateway = await startGateway({ upstreamPort: port, config: { listen: H2C, ...webRoute(port) } });
    return [`http://127.0.0.1:${gateway.port}`];
  }
  const { gateway } = await startTlsGateway({ config: webRoute(port) });
  const authority = join(await tempFolder(), 'ca.crt');
  await writeFile(authority, AUTHORITY.certificate);
  return [`https://127.0.0.1:${gateway.port}`, authority];
}

test.each(['cleartext', 'TLS'] as const)(
  'connect for Node.js makes calls of all kinds: %s',
  async security => {
    const client = join(import.meta.dirname, 'connect-node/client.js');
    const { stdout } = await promisify(execFile)(process.execPath, [client, ...(await start(security))]);
    expect(stdout.match(/^ok /gm)).toHaveLength(10);
  },
);
