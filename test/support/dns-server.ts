import { promises, Resolver } from 'node:dns';
import type { LookupFunction } from 'node:net';
import DNS from 'dns2';
import { onTestFinished } from 'vitest';
import { type Network, thisMachine } from '../../src/core/index.ts';
import { freePort } from './free-port.ts';

const { Packet } = DNS;
type Record = Partial<DNS.Packet.Resource>;

/** A record of a host's address. */
export function hostAt(address: string): Record {
  const type = address.includes(':') ? Packet.TYPE.AAAA : Packet.TYPE.A;
  return { type, address, ttl: 30 };
}

/** A record that names a host of a service. */
export function serviceAt(target: string, port: number, { priority = 0, weight = 0 } = {}): Record {
  return { type: Packet.TYPE.SRV, target, port, ttl: 30, priority, weight };
}

/** A DNS server on 127.0.0.1, by UDP and TCP, that knows what a test tells it. The end of the running test stops it. */
export class DnsServer {
  /** The records of names, in lower case. A name that is not here does not exist. */
  readonly records = new Map<string, readonly Record[]>();
  state: 'answers' | 'fails' | 'is silent' = 'answers';
  /** What was asked, as `SRV name`. */
  readonly asked: string[] = [];
  readonly #port: number;
  #dns: DNS.DnsServer | null = null;

  private constructor(port: number) {
    this.#port = port;
  }

  static async start(): Promise<DnsServer> {
    const server = new DnsServer(await freePort());
    await server.start();
    onTestFinished(() => server.stop());
    return server;
  }

  async start(): Promise<void> {
    this.#dns = DNS.createServer({
      ...{ udp: true, tcp: true },
      handle: (request, send) => {
        const response = this.#answer(request);
        if (response !== null) send(response);
      },
    });
    const at = { port: this.#port, address: '127.0.0.1' };
    await this.#dns.listen({ udp: at, tcp: at });
  }

  async stop(): Promise<void> {
    await this.#dns?.close();
    this.#dns = null;
  }

  /** The network of this machine, with this as its DNS server: also for names that the system looks up. */
  get network(): Network {
    const address = `127.0.0.1:${this.#port}`;
    const createResolver = () => {
      const resolver = new promises.Resolver({ timeout: 5_000, tries: 1 });
      resolver.setServers([address]);
      return resolver;
    };
    return { ...thisMachine.network, createResolver, lookup: lookupAt(address) };
  }

  #answer(request: DNS.Packet): DNS.Packet | null {
    const [question] = request.questions;
    if (question === undefined || this.state === 'is silent') return null;
    const { name, type } = question;
    this.asked.push(`${Packet.typeName(type)} ${name}`);
    const response = Packet.createResponseFromRequest(request);
    const known = this.records.get(name.toLowerCase());
    if (this.state === 'fails') response.header.rcode = Packet.RCODE.SERVFAIL;
    else if (known === undefined) response.header.rcode = Packet.RCODE.NXDOMAIN;
    for (const record of known ?? []) {
      if (record.type !== type) continue;
      response.answers.push(resource(name, record));
    }
    return response;
  }
}

function resource(name: string, record: Record): DNS.Packet.Resource {
  return Object.assign(new Packet.Resource(name), { class: Packet.CLASS.IN }, record);
}

/** Looks names up at one server, as the system would: IPv6 first where a name has both. */
function lookupAt(address: string): LookupFunction {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  resolver.setServers([address]);
  return (name, options, found) => {
    resolver.resolve6(name, (_none, v6 = []) => {
      resolver.resolve4(name, (error, v4 = []) => {
        const all = [
          ...v6.map(host => ({ address: host, family: 6 })),
          ...v4.map(host => ({ address: host, family: 4 })),
        ];
        const [first] = all;
        if (first === undefined) found(error ?? new Error(`no address of ${name}`), '');
        else if (options.all === true) found(null, all);
        else found(null, first.address, first.family);
      });
    });
  };
}
