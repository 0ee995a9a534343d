import { text } from '@market/contracts';
import { z } from 'zod';

/** The fields of a wallet proof. The signature of a contract wallet that is yet to be deployed carries its deployment. */
export const walletProofBody = z.strictObject({
  wallet_address: text(1, 128).describe('The address the challenge was made for.'),
  signature: text(1, 16_384).describe(
    'The message of the challenge, signed: EIP-191 hex (EIP-1271 or EIP-6492 for contract wallets), or ed25519 in base58 or base64.',
  ),
  nonce: text(1, 128).describe('The nonce of the challenge.'),
});
export type WalletProofBody = z.output<typeof walletProofBody>;

export const workProofBody = walletProofBody.extend({
  pow_nonce: text(1, 64).describe('The solution of the proof-of-work puzzle.'),
});
