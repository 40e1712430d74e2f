import { GoProcess } from './go-process.ts';
import type { Http2Reading } from './http2-reading.ts';
import type { Reading } from './reading.ts';
import type { RequestsReading } from './request-reading.ts';

/** What Go's client read; `why` says what it refused. */
export type GoReading = Reading & { readonly why: string };

/** net/http and golang.org/x/net/http2, which read bytes as our server and our client do. Fields come in no order. */
export class ReadersOfGo {
  readonly #process = new GoProcess();

  /** What a server reads from a connection of HTTP/1. */
  requests(bytes: Buffer): Promise<RequestsReading> {
    return this.#ask('Q', bytes);
  }

  /** What a client reads from a connection of HTTP/1 that brings these bytes and ends. */
  response(bytes: Buffer, method: string): Promise<GoReading> {
    return this.#ask('A', Buffer.concat([Buffer.from([method === 'HEAD' ? 1 : 0]), bytes]));
  }

  /** What a server reads from a connection of HTTP/2, by stream, and why it ended that early; null: it did not. */
  async http2Requests(
    bytes: Buffer,
  ): Promise<{ readings: ReadonlyMap<number, Http2Reading>; fault: string | null }> {
    const { readings, fault } = await this.#ask<{
      readings: (Http2Reading & { stream: number })[];
      fault: string;
    }>('S', bytes);
    return {
      readings: new Map(readings.map(reading => [reading.stream, reading])),
      fault: fault === '' ? null : fault,
    };
  }

  /** What a client reads from a connection of HTTP/2 for so many requests. */
  http2Responses(bytes: Buffer, requests: number): Promise<Http2Reading[]> {
    return this.#ask('C', Buffer.concat([Buffer.from([requests]), bytes]));
  }

  end(): void {
    this.#process.end();
  }

  async #ask<T>(operation: string, payload: Buffer): Promise<T> {
    return JSON.parse((await this.#process.ask(operation, payload)).toString());
  }
}
