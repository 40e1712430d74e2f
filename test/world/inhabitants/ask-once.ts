import type { WorldNetwork } from '../network/network.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import { ADMIN_TOKEN, type WorldGateway } from './gateway.ts';
import { type Response, ResponseStream } from './response-reader.ts';

export interface Question {
  readonly address: string;
  readonly port: number;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the connection when it aborts. */
  readonly signal?: AbortSignal;
  /** Is called when the process of the gateway has read the head. */
  readonly onRead?: () => void;
}

/** Asks on a connection of its own. Resolves to `null` if no whole response came. */
export function askOnce(network: WorldNetwork, question: Question): Promise<Response | null> {
  const { address, port, method, path, fields = {}, body = '', signal, onRead = () => {} } = question;
  return new Promise(resolve => {
    const socket = network.connect({ host: address, port });
    const responses = new ResponseStream();
    const finish = (response: Response | null) => {
      resolve(response);
      socket.destroy();
    };
    const look = (isEnded: boolean) => {
      const response = responses.next(method, isEnded);
      if (response !== null || isEnded) finish(response);
    };
    socket.on('data', (piece: Buffer) => {
      responses.take(piece);
      look(false);
    });
    socket.on('end', () => look(true));
    socket.on('error', () => {});
    socket.on('close', () => resolve(null));
    signal?.addEventListener('abort', () => socket.destroy());
    const lines = Object.entries({
      Host: address,
      Connection: 'close',
      'Content-Length': String(body.length),
      ...fields,
    });
    const fieldLines = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `${method} ${path} HTTP/1.1\r\n${fieldLines}\r\n`;
    socket.oncePeerRead(head.length, onRead);
    socket.write(head + body);
  });
}

export interface Wish {
  readonly client: string;
  /** Nobody else has it. */
  readonly id: string;
  readonly gateway: WorldGateway;
  readonly path: string;
}

/** Has a client without a token ask a gateway for something, and notes what came of it. */
export async function askGateway(
  world: World,
  network: WorldNetwork,
  { client, id, gateway, path }: Wish,
): Promise<{ readonly asked: Asked; readonly response: Response | null }> {
  const asked = world.requests.begin({
    ...{ id, gateway, method: 'GET', path, token: null, client },
    ...{ life: gateway.lives.length, mayRepeat: true, sentMs: world.nowMs },
  });
  const to = { address: gateway.host.address, port: 80, method: 'GET', path } as const;
  const onRead = () => {
    asked.readMs = world.nowMs;
  };
  const response = await askOnce(network, { ...to, fields: { 'X-World': id }, onRead });
  world.history.tell(client, `${id} gets ${response?.status ?? 'nothing'}`);
  return { asked, response };
}

/** Has a gateway change something by its admin API. */
export function askAdmin(
  network: WorldNetwork,
  gateway: WorldGateway,
  method: 'POST' | 'DELETE',
  path: string,
  body = '',
): Promise<Response | null> {
  const fields = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  return askOnce(network, { address: gateway.host.address, port: 81, method, path, body, fields });
}
