export { type AskedPorts, USUAL_PORTS } from './ports.ts';
export { runDemo } from './run-demo.ts';
export { runFlow } from './run-flow.ts';
