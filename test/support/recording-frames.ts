import type { FrameSink } from '../../src/wire/http2/frames/index.ts';

/** Records frames in words. */
export class RecordingFrames implements FrameSink {
  readonly events: string[] = [];
  /** Of DATA: pieces of one frame are joined, so that the splits of the bytes do not show. */
  #data: { readonly stream: number; text: string; flow: number; ends: boolean } | null = null;

  /** All that came, the last DATA included. */
  get all(): readonly string[] {
    this.#close();
    return this.events;
  }

  data(stream: number, bytes: Buffer, flowBytes: number, ends: boolean): void {
    if (this.#data?.stream !== stream || this.#data.ends) this.#close();
    this.#data ??= { stream, text: '', flow: 0, ends };
    this.#data.text += bytes.toString('latin1');
    this.#data.flow += flowBytes;
    this.#data.ends = ends;
  }

  headers(stream: number, block: Buffer, ends: boolean): void {
    this.#note(`headers ${stream} ${block.toString('latin1')}${ends ? ' end' : ''}`);
  }

  reset(stream: number, code: number): void {
    this.#note(`reset ${stream} ${code}`);
  }

  settings(payload: Buffer): void {
    this.#note(`settings ${payload.toString('hex')}`);
  }

  settingsAcknowledged(): void {
    this.#note('settings ack');
  }

  ping(payload: Buffer): void {
    this.#note(`ping ${payload.toString('latin1')}`);
  }

  pingAcknowledged(): void {
    this.#note('ping ack');
  }

  goaway(lastStream: number, code: number): void {
    this.#note(`goaway ${lastStream} ${code}`);
  }

  windowUpdate(stream: number, increment: number): void {
    this.#note(`window ${stream} ${increment}`);
  }

  priorityUpdate(stream: number, priority: string): void {
    this.#note(`priority ${stream} ${priority}`);
  }

  ignored(): void {
    this.#note('ignored');
  }

  #note(event: string): void {
    this.#close();
    this.events.push(event);
  }

  #close(): void {
    if (this.#data === null) return;
    const { stream, text, flow, ends } = this.#data;
    this.#data = null;
    this.events.push(`data ${stream} "${text}" ${flow}${ends ? ' end' : ''}`);
  }
}
