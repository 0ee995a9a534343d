import { createHash, createPublicKey, verify } from 'node:crypto';
import {
  getAddressEncoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getProgramDerivedAddress,
  getTransactionDecoder,
  getU64Decoder,
  type Address,
} from '@solana/kit';
import type { ExactRequirements, TermsCheck, Rejected, SignableOffer, SolanaPayload } from './exact-payment.js';

/** Error codes of `@x402/svm`, the reference implementation. */
type SolanaRejection =
  | 'invalid_exact_svm_payload_transaction_could_not_be_decoded'
  | 'invalid_exact_svm_fee_payer_mismatch'
  | 'invalid_exact_svm_payload_signature_invalid'
  | 'invalid_exact_svm_payload_no_transfer_instruction'
  | 'invalid_exact_svm_payload_mint_mismatch'
  | 'invalid_exact_svm_payload_recipient_mismatch'
  | 'invalid_exact_svm_payload_amount_mismatch'
  | 'invalid_exact_svm_payload_memo_mismatch';

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address;
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/**
 * The instruction TransferChecked: its number, the amount as u64, the decimals. Accounts: source, mint, destination,
 * authority.
 */
const TRANSFER_CHECKED = 12;

/** A transaction is valid for 150 blocks after the block of its blockhash, which is one minute at 400 ms per block. */
const TRANSACTION_SECONDS = 60;

/**
 * The terms that a client signs on Solana: a transaction with one transfer of USDC, whose fee the facilitator pays. The
 * memo binds the transaction to the offer and is stored on the chain. Source: schemes/exact/scheme_exact_svm.md of
 * github.com/coinbase/x402.
 */
export const solanaRequirements = (
  { relayRequestId, route: { network }, amountBaseUnits, payTo }: SignableOffer,
  asset: string,
  feePayer: string,
): ExactRequirements => ({
  scheme: 'exact',
  network,
  amount: amountBaseUnits.toString(),
  asset,
  payTo,
  maxTimeoutSeconds: TRANSACTION_SECONDS,
  extra: { feePayer, memo: relayRequestId, relayRequestId },
});

/** A transaction as its payer signed it. */
export interface SignedTransaction {
  messageBytes: Buffer;
  blockhash: string;
  /** The fee payer is first. The signature of an account that has not signed yet is null. */
  signers: { address: Address; signature: Uint8Array | null }[];
  instructions: { program: Address; accounts: Address[]; data: Buffer }[];
}

/**
 * Returns null if the text is not a transaction of a version that x402 supports, or if the transaction uses address
 * lookup tables.
 */
export function readTransaction(base64: string): SignedTransaction | null {
  try {
    const { messageBytes, signatures } = getTransactionDecoder().decode(getBase64Encoder().encode(base64));
    const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
    if (message.version === 1 || (message.version === 0 && message.addressTableLookups?.length)) return null;
    const { staticAccounts, header, lifetimeToken } = message;
    const accountAt = (index: number): Address => {
      const account = staticAccounts[index];
      if (account === undefined) throw new Error('an instruction names no account of the transaction');
      return account;
    };
    return {
      messageBytes: Buffer.from(messageBytes),
      blockhash: lifetimeToken,
      signers: staticAccounts
        .slice(0, header.numSignerAccounts)
        .map((address) => ({ address, signature: signatures[address] ?? null })),
      instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
        program: accountAt(programAddressIndex),
        accounts: accountIndices.map(accountAt),
        data: Buffer.from(data ?? []),
      })),
    };
  } catch {
    return null;
  }
}

/** The account that holds an owner's balance of a token. Source: the Associated Token Account program of Solana. */
export async function tokenAccountOf(owner: string, mint: string): Promise<Address> {
  const bytesOf = getAddressEncoder();
  const [account] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    seeds: [bytesOf.encode(owner as Address), bytesOf.encode(TOKEN_PROGRAM), bytesOf.encode(mint as Address)],
  });
  return account;
}

const rejected = (reason: SolanaRejection): Rejected => ({ valid: false, reason });

/**
 * Returns who signed a transaction. The transaction must have exactly one instruction of the token program, which
 * transfers the asset to the recipient, and the offer's memo. The facilitator checks the other instructions and
 * simulates the transaction.
 */
export async function signerOfSolana(
  { transaction: text }: SolanaPayload,
  { asset, payTo, extra }: ExactRequirements,
): Promise<{ valid: true; payer: string } | Rejected> {
  const transaction = readTransaction(text);
  if (!transaction) return rejected('invalid_exact_svm_payload_transaction_could_not_be_decoded');
  const [feePayer, ...others] = transaction.signers;
  if (feePayer?.address !== extra.feePayer) return rejected('invalid_exact_svm_fee_payer_mismatch');
  if (!others.every(({ address, signature }) => hasSigned(address, signature, transaction.messageBytes)))
    return rejected('invalid_exact_svm_payload_signature_invalid');
  const transfer = transferOf(transaction);
  if (!transfer) return rejected('invalid_exact_svm_payload_no_transfer_instruction');
  if (!others.some(({ address }) => address === transfer.authority))
    return rejected('invalid_exact_svm_payload_signature_invalid');
  if (transfer.mint !== asset) return rejected('invalid_exact_svm_payload_mint_mismatch');
  if (transfer.destination !== (await tokenAccountOf(payTo, asset)))
    return rejected('invalid_exact_svm_payload_recipient_mismatch');
  const memos = transaction.instructions.filter(({ program }) => program === MEMO_PROGRAM);
  if (memos.length !== 1 || memos[0]!.data.toString() !== extra.memo)
    return rejected('invalid_exact_svm_payload_memo_mismatch');
  return { valid: true, payer: transfer.authority };
}

/**
 * Only the chain knows when the blockhash expires. `validBefore` is therefore an estimate: the time that the call needs
 * plus the lifetime of a new transaction.
 */
export function checkSolanaTerms(
  { transaction: text }: SolanaPayload,
  payer: string,
  { amount, maxTimeoutSeconds }: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded: bigint,
): TermsCheck {
  const transaction = readTransaction(text);
  const transfer = transaction && transferOf(transaction);
  if (transfer?.amount !== BigInt(amount)) return rejected('invalid_exact_svm_payload_amount_mismatch');
  const nonce = `0x${createHash('sha256').update(transaction!.messageBytes).digest('hex')}`;
  const validBefore = nowSeconds + secondsNeeded + BigInt(maxTimeoutSeconds);
  return { valid: true, authorization: { payer, nonce, validBefore } };
}

interface Transfer {
  mint: Address;
  destination: Address;
  authority: Address;
  amount: bigint;
}

function transferOf({ instructions }: SignedTransaction): Transfer | null {
  const [instruction, ...others] = instructions.filter(({ program }) => program === TOKEN_PROGRAM);
  if (!instruction || others.length > 0) return null;
  const { data, accounts } = instruction;
  const [, mint, destination, authority] = accounts;
  if (data[0] !== TRANSFER_CHECKED || data.length !== 10 || !mint || !destination || !authority) return null;
  return { mint, destination, authority, amount: getU64Decoder().decode(data.subarray(1, 9)) };
}

function hasSigned(address: Address, signature: Uint8Array | null, message: Buffer): boolean {
  if (!signature) return false;
  const x = Buffer.from(getAddressEncoder().encode(address)).toString('base64url');
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
