import { isIPv6, type Socket } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode, type Packet, RECURSION_DESIRED } from 'dns-packet';
import type { DatagramSocket, RandomBytes, System } from '../../core/index.ts';

/** The parts of the system that a DNS client needs. */
export type DnsSystem = Pick<System, 'clock' | 'network' | 'randomBytes'>;

type DnsType = 'A' | 'AAAA' | 'SRV';

/** The records of a response. */
export interface DnsReply {
  readonly answers: readonly Answer[];
  /** Records that the server adds unrequested, such as the addresses of the hosts it names. */
  readonly additionals: readonly Answer[];
}

/** Thrown if a DNS server says that the name does not exist, or has no such records (RFC 2308). */
export class NoSuchRecords extends Error {}

/** How long a server may take to answer, and how often all are asked. */
const ATTEMPT_MS = 2_000;
const ROUNDS = 2;
/** The largest datagram that is not fragmented on the way (DNS flag day 2020). */
const DATAGRAM_BYTES = 1_232;
const DNS_PORT = 53;
const LENGTH_BYTES = 2;

/** Codes of responses (RFC 1035, 4.1.1). */
const NO_ERROR = 0;
const FORMAT_ERROR = 1;
const NAME_ERROR = 3;

/**
 * Asks this machine's DNS servers: by UDP, and by TCP if the response is larger than a datagram. Node's own resolver does not
 * report how long an SRV record is valid.
 */
export class DnsClient {
  readonly #system: DnsSystem;

  constructor(system: DnsSystem) {
    this.#system = system;
  }

  /**
   * Returns the records of a name. Asks one server after the other, twice. Throws `NoSuchRecords` if a server says that there are
   * none, and another error if no server answers.
   */
  async ask(name: string, type: DnsType): Promise<DnsReply> {
    let fault: unknown = new Error('no DNS server is configured');
    const servers = this.#system.network.nameServers().map(parseServer);
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of servers) {
        try {
          return readReply(await this.#askServer(server, name, type), name, type);
        } catch (error) {
          if (error instanceof NoSuchRecords) throw error;
          fault = error;
        }
      }
    }
    throw fault;
  }

  async #askServer(server: Server, name: string, type: DnsType): Promise<DecodedPacket> {
    const query = makeQuery(name, type, this.#system.randomBytes);
    const reply = await this.#exchange(query, new DatagramLink(server, this.#system));
    // A server older than RFC 6891 rejects the record that allows large datagrams.
    if (!reply.flag_tc && codeOf(reply) !== FORMAT_ERROR) return reply;
    return this.#exchange({ ...query, additionals: [] }, new StreamLink(server, this.#system));
  }

  /** Sends the query and waits for the response to it. Closes the link. */
  async #exchange(query: Query, link: Link): Promise<DecodedPacket> {
    const { clock } = this.#system;
    const timer = clock.after(ATTEMPT_MS, () =>
      link.fail(new Error('the DNS server did not answer in time')),
    );
    try {
      return await new Promise((resolve, reject) => {
        link.open(encode(query), {
          message(bytes) {
            const reply = readMessage(bytes);
            // Anyone can send datagrams: those that do not match the query are ignored (RFC 5452, 9.1).
            if (reply !== null && answers(reply, query)) resolve(reply);
          },
          fail: reject,
        });
      });
    } finally {
      clock.cancel(timer);
      link.close();
    }
  }
}

const ID_BYTES = 2;

interface Query extends Packet {
  readonly id: number;
  readonly questions: [{ readonly type: DnsType; readonly name: string; readonly class: 'IN' }];
}

function makeQuery(name: string, type: DnsType, randomBytes: RandomBytes): Query {
  return {
    ...{ type: 'query', id: randomBytes(ID_BYTES).readUInt16BE(), flags: RECURSION_DESIRED },
    questions: [{ type, name, class: 'IN' }],
    additionals: [
      {
        ...{ type: 'OPT', name: '.', udpPayloadSize: DATAGRAM_BYTES, extendedRcode: 0, ednsVersion: 0 },
        ...{ flags: 0, flag_do: false, options: [] },
      },
    ],
  };
}

function readMessage(bytes: Buffer): DecodedPacket | null {
  try {
    return decode(bytes);
  } catch {
    return null;
  }
}

function answers({ type, id, questions = [] }: DecodedPacket, query: Query): boolean {
  const [asked] = query.questions;
  const [question, ...others] = questions;
  if (type !== 'response' || id !== query.id || question === undefined || others.length > 0) return false;
  return question.type === asked.type && question.class === 'IN' && sameName(question.name, asked.name);
}

/** Whether two names are the same (RFC 4343); a name from DNS has no trailing dot. */
export function sameName(one: string, other: string): boolean {
  return canonicalName(one) === canonicalName(other);
}

export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function codeOf({ flags = 0 }: Packet): number {
  return flags & 0xf;
}

function readReply(packet: DecodedPacket, name: string, type: DnsType): DnsReply {
  const code = codeOf(packet);
  if (code === NAME_ERROR) throw new NoSuchRecords(`DNS knows no name ${name}`);
  if (code !== NO_ERROR) throw new Error(`the DNS server answered with error ${code}`);
  const { answers: found = [], additionals = [] } = packet;
  if (!found.some(record => record.type === type)) throw new NoSuchRecords(`${name} has no ${type} records`);
  return { answers: found, additionals };
}

interface Server {
  readonly host: string;
  readonly port: number;
}

/** Parses an address with or without a port, as Node lists DNS servers. */
function parseServer(text: string): Server {
  const match = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text);
  if (match === null) return { host: text, port: DNS_PORT };
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) };
}

interface LinkListener {
  /** Called for each message; it may be forged. */
  message(bytes: Buffer): void;
  fail(error: Error): void;
}

/** A connection to one DNS server, for one query. */
interface Link {
  open(query: Buffer, listener: LinkListener): void;
  fail(error: Error): void;
  close(): void;
}

class DatagramLink implements Link {
  readonly #server: Server;
  readonly #socket: DatagramSocket;
  #listener: LinkListener | null = null;

  constructor(server: Server, { network }: DnsSystem) {
    this.#server = server;
    this.#socket = network.createDatagramSocket(isIPv6(server.host) ? 'udp6' : 'udp4').unref();
  }

  open(query: Buffer, listener: LinkListener): void {
    this.#listener = listener;
    this.#socket.on('message', bytes => listener.message(bytes));
    this.#socket.on('error', error => listener.fail(error));
    // Once connected, the system accepts datagrams from this server only.
    this.#socket.connect(this.#server.port, this.#server.host, () => {
      if (this.#listener !== null) this.#socket.send(query);
    });
  }

  fail(error: Error): void {
    this.#listener?.fail(error);
  }

  close(): void {
    this.#listener = null;
    this.#socket.close();
  }
}

/** Each message has its length before it (RFC 1035, 4.2.2). */
class StreamLink implements Link {
  readonly #socket: Socket;
  #listener: LinkListener | null = null;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(server: Server, { network }: DnsSystem) {
    this.#socket = network.connect({ ...server, noDelay: true }).unref();
  }

  open(query: Buffer, listener: LinkListener): void {
    this.#listener = listener;
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#socket.on('error', error => listener.fail(error));
    this.#socket.on('close', () => listener.fail(new Error('the DNS server closed the connection')));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt16BE(query.length);
    this.#socket.write(Buffer.concat([length, query]));
  }

  fail(error: Error): void {
    this.#listener?.fail(error);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.#bytes.length < LENGTH_BYTES) return;
    const end = LENGTH_BYTES + this.#bytes.readUInt16BE(0);
    if (this.#bytes.length < end) return;
    const message = this.#bytes.subarray(LENGTH_BYTES, end);
    this.#socket.pause();
    this.#listener?.message(message);
  }
}
