export { CloseCode } from './close-frame.ts';
export { type HandshakeFault, hasExtensions, judgeHandshake, judgeSwitch } from './handshake.ts';
export { Tunnel, type TunnelEnd } from './tunnel.ts';
