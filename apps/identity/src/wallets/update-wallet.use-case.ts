import type { InputOf, OutputOf } from '@market/contracts';
import { updateWallet } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { isPrintable } from '../printable-text.js';
import { changeWallet, mayRecover, type Denial, type WalletState } from './wallet-set.js';
import { normalizeCapabilities, toLinkedWallet, Wallets, type WalletRow } from './wallets.js';

/** Changes a wallet and the roles of the account's other wallets, in one transaction under a lock. */
@Injectable()
export class UpdateWallet {
  constructor(
    private readonly database: Database,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
  ) {}

  @HandleRequest(updateWallet)
  async execute(
    { wallet_id: walletId, proof, ...changes }: InputOf<typeof updateWallet>,
    context: RequestContext,
  ): Promise<OutputOf<typeof updateWallet>> {
    const { accountId } = principalOf(context);
    const { label, capabilities } = changes;
    if (!(await this.wallets.findOne(this.database, accountId, walletId)))
      throw refuse(updateWallet, 'wallet_not_found', {});
    if (typeof label === 'string' && !isPrintable(label)) throw refuse(updateWallet, 'label_invalid', {});
    const { wallet } = await this.proofs.proveFor(accountId, updateWallet, 'wallet_update', proof);
    return this.database.transaction(async (tx) => {
      const before = await this.wallets.lockAll(tx, accountId);
      const prover = before.find(({ address }) => address === wallet.address);
      if (!prover || !mayRecover(prover)) throw refuse(updateWallet, 'proof_not_sufficient', {});
      const after = changeWallet(before, walletId, {
        ...changes,
        capabilities: capabilities && normalizeCapabilities(capabilities),
      });
      if (isDenial(after)) throw refusalOf(after);
      await this.wallets.store(tx, accountId, after);
      return toLinkedWallet((await this.wallets.findOne(tx, accountId, walletId)) as WalletRow);
    });
  }
}

const isDenial = (result: readonly WalletState[] | Denial): result is Denial => 'reason' in result;

const refusalOf = (denial: Denial): Error =>
  denial.reason === 'wallet_not_eligible'
    ? refuse(updateWallet, denial.reason, { field: denial.field })
    : refuse(updateWallet, denial.reason, {});
