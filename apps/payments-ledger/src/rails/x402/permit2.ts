import {
  PERMIT2_ADDRESS,
  permit2WitnessTypes,
  uptoPermit2WitnessTypes,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm';
import { getAddress, hashTypedData, isAddressEqual, parseErc6492Signature, type Address, type Hex } from 'viem';
import { MAX_SECONDS_AFTER_OFFER, MIN_SECONDS_LEFT, signerOf, type AskContract } from './exact-evm.js';
import type { ExactRequirements, Permit2Payload, Rejected, TermsCheck } from './exact-payment.js';

const rejected = (reason: string): Rejected => ({ valid: false, reason });
const same = (one: string, other: string): boolean => isAddressEqual(one as Address, other as Address);

/** The terms by which the same call is paid for what it uses. Only this facilitator can settle what is signed. */
export const uptoOf = ({ extra, ...asked }: ExactRequirements, facilitatorAddress: string): ExactRequirements => ({
  ...asked,
  scheme: 'upto',
  extra: { ...extra, facilitatorAddress: getAddress(facilitatorAddress) },
});

/** The contract through which Permit2 moves the money, which alone may use what is signed. */
const proxyOf = ({ scheme }: Pick<ExactRequirements, 'scheme'>): Address =>
  scheme === 'upto' ? x402UptoPermit2ProxyAddress : x402ExactPermit2ProxyAddress;

/**
 * Who signed for Permit2. Source: scheme_upto_evm.md and scheme_exact_evm.md of github.com/coinbase/x402.
 * @param askContract undefined if no server of the chain is known.
 */
export async function signerOfPermit2(
  { signature, permit2Authorization: permit }: Permit2Payload,
  asked: ExactRequirements,
  askContract: AskContract | undefined,
): Promise<{ valid: true; payer: string } | Rejected> {
  if (!same(permit.spender, proxyOf(asked))) return rejected('invalid_permit2_spender');
  if (!same(permit.witness.to, asked.payTo)) return rejected('invalid_permit2_recipient_mismatch');
  if (!same(permit.permitted.token, asked.asset)) return rejected('permit2_token_mismatch');
  const { facilitatorAddress } = asked.extra;
  if (asked.scheme === 'upto' && !(permit.witness.facilitator && same(permit.witness.facilitator, facilitatorAddress!)))
    return rejected('upto_facilitator_mismatch');
  return signerOf(
    getAddress(permit.from),
    digestOf(permit, asked),
    signature,
    askContract,
    'invalid_permit2_signature',
  );
}

export function checkPermit2Terms(
  { permit2Authorization: { permitted, nonce, deadline, witness } }: Permit2Payload,
  payer: string,
  { amount, maxTimeoutSeconds }: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded: bigint,
): TermsCheck {
  if (permitted.amount !== BigInt(amount)) return rejected('permit2_amount_mismatch');
  if (witness.validAfter > nowSeconds) return rejected('permit2_not_yet_valid');
  if (
    deadline < nowSeconds + (secondsNeeded > MIN_SECONDS_LEFT ? secondsNeeded : MIN_SECONDS_LEFT) ||
    deadline > nowSeconds + BigInt(maxTimeoutSeconds) + MAX_SECONDS_AFTER_OFFER
  )
    return rejected('permit2_deadline_expired');
  return { valid: true, authorization: { payer, nonce: nonce.toString(), validBefore: deadline } };
}

/** What is signed by EIP-712. Null if numbers are beyond 256 bits. */
function digestOf(
  { permitted, spender, nonce, deadline, witness }: Permit2Payload['permit2Authorization'],
  { network, scheme }: ExactRequirements,
): Hex | null {
  const domain = {
    name: 'Permit2',
    chainId: Number(network.slice('eip155:'.length)),
    verifyingContract: PERMIT2_ADDRESS,
  };
  const message = {
    permitted: permitted as { token: Address; amount: bigint },
    spender: spender as Address,
    nonce,
    deadline,
  };
  const { to, validAfter } = { ...witness, to: witness.to as Address };
  try {
    return scheme === 'upto'
      ? hashTypedData({
          domain,
          types: uptoPermit2WitnessTypes,
          primaryType: 'PermitWitnessTransferFrom',
          message: { ...message, witness: { to, facilitator: witness.facilitator as Address, validAfter } },
        })
      : hashTypedData({
          domain,
          types: permit2WitnessTypes,
          primaryType: 'PermitWitnessTransferFrom',
          message: { ...message, witness: { to, validAfter } },
        });
  } catch {
    return null;
  }
}

/** How the reference facilitator moves the money. @param amount at most what is permitted, for `upto`. */
export function settlementOf(
  { signature, permit2Authorization: { from, permitted, nonce, deadline, witness } }: Permit2Payload,
  { scheme, amount }: ExactRequirements,
) {
  const permit = { permitted: { token: permitted.token as Address, amount: permitted.amount }, nonce, deadline };
  const { signature: own } = parseErc6492Signature(signature as Hex);
  const { to, validAfter } = witness;
  const address = proxyOf({ scheme });
  return scheme === 'upto'
    ? {
        address,
        abi: x402UptoPermit2ProxyABI,
        functionName: 'settle',
        args: [permit, BigInt(amount), from, { to, facilitator: witness.facilitator, validAfter }, own],
      }
    : { address, abi: x402ExactPermit2ProxyABI, functionName: 'settle', args: [permit, from, { to, validAfter }, own] };
}
