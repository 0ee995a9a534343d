import { walletCapability, type LinkedWallet, type WalletCapability } from '@market/contracts/identity';
import type { WalletRow } from './wallets.js';

export const toLinkedWallet = (row: WalletRow): LinkedWallet => ({
  id: row.id,
  address: row.address,
  chain_type: row.chainType,
  label: row.label,
  is_primary: row.isPrimary,
  is_default_payer: row.isDefaultPayer,
  is_default_payout: row.isDefaultPayout,
  capabilities: row.capabilities,
  status: row.status,
  verified_at: row.verifiedAt.toISOString(),
  created_at: row.createdAt.toISOString(),
});

/** The same set without repetitions, in one order. */
export const normalizeCapabilities = (capabilities: readonly WalletCapability[]): WalletCapability[] =>
  walletCapability.options.filter((known) => capabilities.includes(known));
