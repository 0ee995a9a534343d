import { isDeepStrictEqual } from 'node:util';
import { checkEvmTerms, signerOfEvm, type AskContract } from './exact-evm.js';
import {
  isByPermit2,
  isSolana,
  type EvmPayload,
  type ExactPayload,
  type ExactRequirements,
  type Permit2Payload,
  type TermsCheck,
  type Rejected,
  type SolanaPayload,
} from './exact-payment.js';
import { checkSolanaTerms, signerOfSolana } from './exact-solana.js';
import { checkPermit2Terms, signerOfPermit2 } from './permit2.js';

const rejected = (reason: string): Rejected => ({ valid: false, reason });

/**
 * Returns who signed exactly these terms. Checks in the order of the protocol: terms, signature, recipient.
 * @param askContract asks a wallet with code on the chain of these terms, if a server of it is known.
 */
export async function signedBy(
  { accepted, payload }: ExactPayload,
  asked: ExactRequirements,
  askContract?: AskContract,
): Promise<{ valid: true; payer: string } | Rejected> {
  if (accepted.scheme !== asked.scheme) return rejected('unsupported_scheme');
  if (accepted.network !== asked.network) return rejected('invalid_network');
  if (!isDeepStrictEqual({ ...accepted }, { ...asked })) return rejected('accepted_mismatch');
  if (isSolana(asked.network))
    return 'transaction' in payload ? signerOfSolana(payload as SolanaPayload, asked) : rejected('invalid_payload');
  if (isByPermit2(asked))
    return 'permit2Authorization' in payload
      ? signerOfPermit2(payload as Permit2Payload, asked, askContract)
      : rejected('invalid_payload');
  return 'authorization' in payload
    ? signerOfEvm(payload as EvmPayload, asked, askContract)
    : rejected('invalid_payload');
}

/**
 * Checks that `payer` signed the amount of the offer, and that the signature is valid now and for `secondsNeeded` more,
 * in which the seller answers. The facilitator checks the payer's balance and whether the authorization was used on the
 * chain.
 * @param payload a payload that `signedBy` has accepted for these terms.
 */
export const checkTerms = (
  { payload }: ExactPayload,
  payer: string,
  asked: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded = 0n,
): TermsCheck =>
  'transaction' in payload
    ? checkSolanaTerms(payload as SolanaPayload, payer, asked, nowSeconds, secondsNeeded)
    : 'permit2Authorization' in payload
      ? checkPermit2Terms(payload as Permit2Payload, payer, asked, nowSeconds, secondsNeeded)
      : checkEvmTerms(payload as EvmPayload, payer, asked, nowSeconds, secondsNeeded);
