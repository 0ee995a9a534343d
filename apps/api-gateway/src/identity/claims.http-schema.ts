import { Nonce, Signature } from './wallet-proof.http-schema.js';

export class ClaimAgentBody {
  @Nonce()
  nonce: string;

  @Signature()
  signature: string;
}
