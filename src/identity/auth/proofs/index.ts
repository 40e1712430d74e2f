export { Nonces } from './nonces.ts';
export { PROOF_ALGORITHMS } from './proof.ts';
export { ProofKeys } from './proof-keys.ts';
export { type ProofOptions, Proofs, type ProofsDependencies, type ProofVerdict } from './proofs.ts';
export { SeenProofs } from './seen-proofs.ts';
