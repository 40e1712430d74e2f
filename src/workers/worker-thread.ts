import { parentPort, workerData } from 'node:worker_threads';
import { clockSince, thisMachine } from '../core/index.ts';
import { makeLogger } from '../observe/index.ts';
import { runDataPlane } from './data-plane.ts';
import { collectWhatStartingLeft } from './heap.ts';
import { LineSender } from './line-sender.ts';
import { type Packet, PacketLink } from './link.ts';

/** Serves clients in this thread, which the control plane has started. */
export function runWorkerThread(): void {
  const port = parentPort;
  if (port === null) throw new Error('this is no worker');
  const link = new PacketLink(packet => port.postMessage(packet));
  const lines = new LineSender(link, thisMachine.clock);
  const log = makeLogger('info', lines);
  const system = { ...thisMachine, clock: clockSince(workerData.originMs) };
  runDataPlane(workerData, { link, system, log, sendLog: () => lines.send() });
  collectWhatStartingLeft();
  port.on('message', (packet: Packet) => link.take(packet));
}
