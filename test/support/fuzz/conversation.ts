import type { Random } from '../random.ts';
import { type CapturedRequest, NoResponse, type RawClient, type Response, values } from '../wire/index.ts';
import { ReferenceConversation } from './reference.ts';
import { judgeRequests } from './request-judge.ts';

/** One connection under test: what was sent on it, what a careful reader makes of that, what came back. */
export class Conversation {
  /** Where it comes from, and nothing else does. */
  readonly address: string;
  readonly #client: RawClient;
  readonly #reference = new ReferenceConversation();
  readonly #sent: Buffer[] = [];
  readonly #responses: Response[] = [];

  constructor(client: RawClient, address: string) {
    this.#client = client;
    this.address = address;
  }

  /** The bytes sent, as a JSON string. */
  get sent(): string {
    return JSON.stringify(Buffer.concat(this.#sent).toString('latin1'));
  }

  /** Sends bytes and reads the responses to the requests that they complete. False: the connection is over. */
  async exchange(bytes: Buffer, random: Random): Promise<boolean> {
    this.#sent.push(bytes);
    this.#reference.push(bytes);
    await this.#send(bytes, random);
    const { state, requests } = this.#reference;
    if (state === 'refused') {
      // What no careful reader takes may be answered or not, but the connection ends.
      this.#client.endSending();
      await this.#client.ended();
      return false;
    }
    const complete = requests.filter(request => request.complete).length;
    while (this.#responses.length < complete) {
      const response = await this.#nextResponse(requests[this.#responses.length]?.method ?? 'GET');
      if (response === null || values(response.fields, 'connection').includes('close')) return false;
    }
    return state === 'between' || random.chance(0.5);
  }

  /** What is wrong with what reached the upstream from this connection; null: nothing. */
  judge(captured: readonly CapturedRequest[]): string | null {
    const wrong = judgeRequests(captured, this.#reference.requests, this.address);
    if (wrong !== null) return wrong;
    const ids = captured.map(request => values(request.fields, 'x-request-id')[0]);
    const answered = this.#responses.filter(response => response.status === 200);
    const mixed = answered.some((response, i) => values(response.fields, 'x-request-id')[0] !== ids[i]);
    return mixed ? 'a response is not the response to its request' : null;
  }

  async #nextResponse(to: string): Promise<Response | null> {
    try {
      const response = await this.#client.answer({ to });
      this.#responses.push(response);
      return response;
    } catch (error) {
      if (error instanceof NoResponse) return null;
      throw error;
    }
  }

  async #send(bytes: Buffer, random: Random): Promise<void> {
    if (random.chance(0.95)) return void this.#client.send(bytes);
    const cut = random.below(bytes.length);
    await this.#client.send(bytes.subarray(0, cut));
    await new Promise(resolve => setImmediate(resolve));
    void this.#client.send(bytes.subarray(cut));
  }
}
