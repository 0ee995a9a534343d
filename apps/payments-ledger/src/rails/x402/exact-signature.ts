import { isDeepStrictEqual } from 'node:util';
import { judgeEvm, signerOfEvm } from './exact-evm.js';
import {
  isSolana,
  type EvmPayload,
  type ExactPayload,
  type ExactRequirements,
  type Judgement,
  type Rejected,
  type SolanaPayload,
} from './exact-payment.js';
import { judgeSolana, signerOfSolana } from './exact-solana.js';

const rejected = (reason: string): Rejected => ({ valid: false, reason });

/** Who signed for exactly these terms, in the order the protocol names: terms, signature, recipient. */
export async function signedBy(
  { accepted, payload }: ExactPayload,
  asked: ExactRequirements,
): Promise<{ valid: true; payer: string } | Rejected> {
  if (accepted.scheme !== asked.scheme) return rejected('unsupported_scheme');
  if (accepted.network !== asked.network) return rejected('invalid_network');
  if (!isDeepStrictEqual({ ...accepted }, { ...asked })) return rejected('accepted_mismatch');
  if (isSolana(asked.network))
    return 'transaction' in payload ? signerOfSolana(payload as SolanaPayload, asked) : rejected('invalid_payload');
  return 'authorization' in payload ? signerOfEvm(payload as EvmPayload, asked) : rejected('invalid_payload');
}

/**
 * Whether what `payer` signed for an offer is its amount, good at this time and for `secondsNeeded` more, in which the seller
 * answers. The payer's balance, and whether the authorization was used on the chain, are for the facilitator to know.
 * @param payload one that `signedBy` has accepted for these terms.
 */
export const judgeSigned = (
  { payload }: ExactPayload,
  payer: string,
  asked: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded = 0n,
): Judgement =>
  'transaction' in payload
    ? judgeSolana(payload as SolanaPayload, payer, asked, nowSeconds, secondsNeeded)
    : judgeEvm(payload as EvmPayload, payer, asked, nowSeconds, secondsNeeded);
