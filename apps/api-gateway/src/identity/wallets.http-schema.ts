import { someOf, text } from '@market/contracts';
import { walletCapability, walletStatus } from '@market/contracts/identity';
import { z } from 'zod';
import { walletProofBody } from './wallet-proof.http-schema.js';

const label = text(1, 100).describe('How you tell your wallets apart.');
const movesDefault = z
  .boolean()
  .optional()
  .describe('True moves the default here, false leaves the account without one.');

export const linkWalletBody = z.object({
  existing_wallet: walletProofBody.describe(
    'An active wallet of the account with the capability recovery; purpose wallet_link.',
  ),
  new_wallet: walletProofBody.describe('The wallet to be linked; purpose wallet_link.'),
  label: label.optional(),
  capabilities: someOf(walletCapability).describe('What the new wallet may do.').default(['login', 'payer', 'payout']),
});

export const updateWalletBody = z.object({
  proof: walletProofBody.describe(
    'An active wallet of the account with the capability recovery; purpose wallet_update.',
  ),
  label: label.nullable().optional(),
  is_primary: z.boolean().optional().describe('True makes this the primary wallet in place of the one that is.'),
  is_default_payer: movesDefault,
  is_default_payout: movesDefault,
  capabilities: someOf(walletCapability).optional().describe('All that the wallet may do from now on.'),
  status: walletStatus.optional(),
});
