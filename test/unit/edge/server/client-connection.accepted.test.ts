import { expect, test } from 'vitest';
import { Accepted, type ClientConnection } from '../../../../src/edge/server/client-connection.ts';
import { errors } from '../../../../src/gateway/index.ts';
import { MemorySocket } from '../../../support/memory-socket.ts';

class RecordingStage implements ClientConnection {
  readonly socket = new MemorySocket().asSocket;
  readonly heard: string[] = [];

  refuse(): void {
    this.heard.push('refuse');
  }

  sweep(nowMs: number): void {
    this.heard.push(`sweep ${nowMs}`);
  }

  drain(): void {
    this.heard.push('drain');
  }

  retire(): void {
    this.heard.push('retire');
  }
}

test('the present stage alone hears what becomes of an accepted socket', () => {
  const [first, second] = [new RecordingStage(), new RecordingStage()];
  const accepted = new Accepted(new MemorySocket().asSocket, '192.0.2.7');
  accepted.become(first);
  accepted.sweep(1);
  accepted.become(second);
  accepted.sweep(2);
  accepted.refuse(errors.overloaded('connections'));
  accepted.drain();
  expect(first.heard).toEqual(['sweep 1']);
  expect(second.heard).toEqual(['sweep 2', 'refuse', 'drain']);
});

test('a stage that begins while the gateway drains hears so', () => {
  const accepted = new Accepted(new MemorySocket().asSocket, '192.0.2.7');
  accepted.become(new RecordingStage());
  accepted.drain();
  const next = new RecordingStage();
  accepted.become(next);
  expect(next.heard).toEqual(['drain']);
});

test('a connection is retired once, at the earliest moment that it was given, and so is each stage that follows', () => {
  const [first, second] = [new RecordingStage(), new RecordingStage()];
  const accepted = new Accepted(new MemorySocket().asSocket, '192.0.2.7', 10);
  accepted.become(first);
  accepted.retireBy(20);
  accepted.retireBy(5);
  for (const nowMs of [4, 5, 30]) accepted.sweep(nowMs);
  accepted.become(second);
  expect(first.heard).toEqual(['sweep 4', 'sweep 5', 'retire', 'sweep 30']);
  expect(second.heard).toEqual(['retire']);
});
