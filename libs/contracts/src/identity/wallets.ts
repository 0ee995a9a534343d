import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { id, someOf, text, timestamp } from '../shared/index.js';
import { walletProof, walletProofRefusals } from './challenges.js';

export const chainType = z.enum(['evm', 'solana']);
/**
 * `login`: sign in and agree to a claim. `recovery`: issue a new key and manage wallets. `payer`: pay. `payout`:
 * receive payments.
 */
export const walletCapability = z.enum(['login', 'recovery', 'payer', 'payout']);
export const walletStatus = z.enum(['active', 'disabled']);
export type WalletCapability = z.output<typeof walletCapability>;

export const walletSummary = z.object({
  id,
  address: z.string(),
  chain_type: chainType,
  label: z.string().nullable(),
  is_primary: z.boolean(),
  is_default_payer: z.boolean(),
  is_default_payout: z.boolean(),
  capabilities: z.array(walletCapability),
  status: walletStatus,
  created_at: timestamp,
});

/** A wallet as its own account sees it. `verified_at`: when its signature was first checked. */
export const linkedWallet = walletSummary.extend({ verified_at: timestamp });
export type LinkedWallet = z.output<typeof linkedWallet>;

const label = text(1, 100).describe('How you tell your wallets apart.');
const movesDefault = z
  .boolean()
  .optional()
  .describe('True moves the default here, false leaves the account without one.');

const walletNotFound = declareRefusal('not-found', 'No such wallet', z.object({}));

/** The refusals that all changes to the wallets of an account have in common. */
const managingRefusals = {
  ...walletProofRefusals,
  /** The same refusal for a wallet of another account and for a wallet without the capability. */
  proof_not_sufficient: declareRefusal(
    'forbidden',
    'The proof must come from an active wallet of this account with the capability recovery',
    z.object({}),
    { nextAction: 'request_new_challenge' },
  ),
  label_invalid: declareRefusal('invalid', 'label must be 1 to 100 printable characters', z.object({}), {
    nextAction: 'fix_request',
  }),
};

export const listWallets = defineRequest({
  subject: 'rpc.identity.list-wallets.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ wallets: z.array(linkedWallet) }),
  refusals: {},
});

export const getWallet = defineRequest({
  subject: 'rpc.identity.get-wallet.v1',
  repeatable: true,
  input: z.object({ wallet_id: id }),
  output: linkedWallet,
  refusals: { wallet_not_found: walletNotFound },
});

/** Both wallets prove themselves with challenges of purpose `wallet_link`. */
export const linkWallet = defineRequest({
  subject: 'rpc.identity.link-wallet.v1',
  input: z.object({
    existing_wallet: walletProof.describe(
      'An active wallet of the account with the capability recovery; purpose wallet_link.',
    ),
    new_wallet: walletProof.describe('The wallet to be linked; purpose wallet_link.'),
    label: label.optional(),
    capabilities: someOf(walletCapability)
      .describe('What the new wallet may do.')
      .default(['login', 'payer', 'payout']),
  }),
  output: linkedWallet,
  refusals: {
    ...managingRefusals,
    wallet_already_linked: declareRefusal('conflict', 'This wallet belongs to an account already', z.object({})),
    too_many_wallets: declareRefusal(
      'conflict',
      'An account has at most this many wallets',
      z.object({ maximum: z.number().int() }),
    ),
  },
});

/**
 * Proven with a challenge of purpose `wallet_update`. If a wallet is disabled or loses a capability, its roles
 * (primary, default payer, default payout) pass to the oldest wallet that can have them; if there is none, there is no
 * default.
 */
export const updateWallet = defineRequest({
  subject: 'rpc.identity.update-wallet.v1',
  input: z.object({
    wallet_id: id,
    proof: walletProof.describe('An active wallet of the account with the capability recovery; purpose wallet_update.'),
    label: label.nullable().optional(),
    is_primary: z.boolean().optional().describe('True makes this the primary wallet in place of the one that is.'),
    is_default_payer: movesDefault,
    is_default_payout: movesDefault,
    capabilities: someOf(walletCapability).optional().describe('All that the wallet may do from now on.'),
    status: walletStatus.optional(),
  }),
  output: linkedWallet,
  refusals: {
    ...managingRefusals,
    wallet_not_found: walletNotFound,
    would_remove_last_recovery_wallet: declareRefusal(
      'conflict',
      'The account would be left without an active wallet that can recover it; give another wallet that capability first',
      z.object({}),
      { nextAction: 'link_wallet' },
    ),
    primary_wallet_required: declareRefusal(
      'conflict',
      'An account has a primary wallet; make another one primary instead',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    wallet_not_eligible: declareRefusal(
      'conflict',
      'Only an active wallet with the matching capability can be used for this',
      z.object({ field: z.enum(['is_primary', 'is_default_payer', 'is_default_payout']) }),
      { nextAction: 'fix_request' },
    ),
  },
});

/** For the paid call: an active wallet of the caller that may pay. */
export const findPayerWallet = defineRequest({
  subject: 'rpc.identity.find-payer-wallet.v1',
  repeatable: true,
  input: z.object({ walletId: id }),
  output: z.object({ id, address: z.string(), chainType }),
  refusals: {
    wallet_not_found: declareRefusal(
      'invalid',
      'X-Market-Origin-Wallet-Id names no active wallet of yours with the capability payer',
      z.object({}),
      { nextAction: 'link_wallet' },
    ),
  },
});

/**
 * For a payment through an external provider: the wallet from which the caller pays and to which it is refunded, and
 * the wallet to which its seller is paid. Null if there is none for that type of chain.
 */
export const findSettlementWallets = defineRequest({
  subject: 'rpc.identity.find-settlement-wallets.v1',
  repeatable: true,
  input: z.object({
    payerChainType: chainType,
    /** The caller's choice. By default its default payer, else its oldest wallet that may pay. */
    payerWalletId: id.optional(),
    sellerId: id,
    /** The seller's default payout wallet, else its oldest that may be paid to. */
    payoutChainType: chainType,
  }),
  output: z.object({ payer: z.string().nullable(), payout: z.string().nullable() }),
  refusals: {},
});

/**
 * The wallets to which sellers are paid, in the order of the input: the default payout wallet of each, else its oldest
 * that may be paid to. Null for a seller that has none for that type of chain.
 */
export const findPayoutWallets = defineRequest({
  subject: 'rpc.identity.find-payout-wallets.v1',
  repeatable: true,
  input: z.object({ sellerIds: z.array(id).max(128), chainType }),
  output: z.object({ payouts: z.array(z.string().nullable()) }),
  refusals: {},
});

/** The account whose current payout wallet has this address, or null. */
export const findPaidSeller = defineRequest({
  subject: 'rpc.identity.find-paid-seller.v1',
  repeatable: true,
  input: z.object({ address: z.string().max(128) }),
  output: z.object({ sellerId: id.nullable() }),
  refusals: {},
});
