export { CloseCode, type HandshakeFault, hasExtensions, judgeHandshake, judgeSwitch } from './handshake.ts';
export { Tunnel, type TunnelEnd } from './tunnel.ts';
