// Loaded into `weir serve` before its own code: worker 1 dies, again and again, once the file exists that WEIR_DOOM names.
import { existsSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const file = process.env['WEIR_DOOM'] ?? '';
if (workerData?.worker === 1)
  setInterval(() => {
    if (existsSync(file)) throw new Error('a fault of a test');
  }, 10);
