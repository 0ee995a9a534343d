import type { LinkedWallet, WalletCapability } from '@market/contracts/identity';

/** The state of a wallet, and its roles among the wallets of an account. */
export type WalletState = Pick<
  LinkedWallet,
  'id' | 'label' | 'is_primary' | 'is_default_payer' | 'is_default_payout' | 'capabilities' | 'status'
>;

export type WalletChanges = Partial<Omit<WalletState, 'id'>>;

export type Denial =
  | { reason: 'would_remove_last_recovery_wallet' | 'primary_wallet_required' }
  | { reason: 'wallet_not_eligible'; field: 'is_primary' | 'is_default_payer' | 'is_default_payout' };

interface Role {
  flag: 'is_primary' | 'is_default_payer' | 'is_default_payout';
  isEligible(wallet: WalletState): boolean;
}

type Ability = Pick<WalletState, 'status' | 'capabilities'>;

const isActive = ({ status }: Ability): boolean => status === 'active';
const may =
  (capability: WalletCapability) =>
  (wallet: Ability): boolean =>
    isActive(wallet) && wallet.capabilities.includes(capability);

/** Whether a wallet can recover the account and manage its wallets. */
export const mayRecover = may('recovery');
export const mayPay = may('payer');
export const mayBePaidTo = may('payout');

/** The roles that at most one wallet of an account has at a time. */
const ROLES: readonly Role[] = [
  { flag: 'is_primary', isEligible: isActive },
  { flag: 'is_default_payer', isEligible: mayPay },
  { flag: 'is_default_payout', isEligible: mayBePaidTo },
];

/**
 * Changes one of the wallets of an account, which are given oldest first. Returns all wallets, or why the change is
 * refused. After a change there is an active wallet that can recover the account, exactly one primary wallet, and at
 * most one default payer and one default payout wallet. Each of these has the required capability.
 */
export function changeWallet(
  wallets: readonly WalletState[],
  id: string,
  changes: WalletChanges,
): readonly WalletState[] | Denial {
  const { label, capabilities, status } = changes;
  let changed = wallets.map((wallet) =>
    wallet.id === id
      ? {
          ...wallet,
          label: label === undefined ? wallet.label : label,
          capabilities: capabilities ?? wallet.capabilities,
          status: status ?? wallet.status,
        }
      : wallet,
  );
  if (!changed.some(mayRecover)) return { reason: 'would_remove_last_recovery_wallet' };
  for (const role of ROLES) {
    const holder = holderAfter(changed, role, id, changes[role.flag]);
    if (typeof holder === 'object') return holder;
    changed = changed.map((wallet) => ({ ...wallet, [role.flag]: wallet.id === holder }));
  }
  return changed;
}

/** The id of the wallet that has the role; undefined if none has it. */
function holderAfter(
  wallets: readonly WalletState[],
  { flag, isEligible }: Role,
  id: string,
  wanted: boolean | undefined,
): string | undefined | Denial {
  const holder = wallets.find((wallet) => wallet[flag]);
  if (wanted === true)
    return wallets.some((wallet) => wallet.id === id && isEligible(wallet))
      ? id
      : { reason: 'wallet_not_eligible', field: flag };
  if (wanted === false && holder?.id === id)
    return flag === 'is_primary' ? { reason: 'primary_wallet_required' } : undefined;
  return holder && !isEligible(holder) ? wallets.find(isEligible)?.id : holder?.id;
}
