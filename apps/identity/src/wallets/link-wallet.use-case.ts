import type { InputOf, OutputOf } from '@market/contracts';
import { linkWallet, walletLinked } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { isPrintable } from '../printable-text.js';
import { mayRecover } from './wallet-set.js';
import { normalizeCapabilities, toLinkedWallet, Wallets } from './wallets.js';

const MAX_WALLETS = 50;

/** Links a wallet to an account. Both the new wallet and one with the capability `recovery` must sign. */
@Injectable()
export class LinkWallet {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
  ) {}

  @HandleRequest(linkWallet)
  async execute(input: InputOf<typeof linkWallet>, context: RequestContext): Promise<OutputOf<typeof linkWallet>> {
    const { accountId } = principalOf(context);
    const { label } = input;
    if (label !== undefined && !isPrintable(label)) throw refuse(linkWallet, 'label_invalid', {});
    const existing = await this.proofs.proveFor(accountId, linkWallet, 'wallet_link', input.existing_wallet);
    const added = await this.proofs.proveFor(accountId, linkWallet, 'wallet_link', input.new_wallet);
    return this.database.transaction(async (tx) => {
      const wallets = await this.wallets.lockAll(tx, accountId);
      const prover = wallets.find(({ address }) => address === existing.wallet.address);
      if (!prover || !mayRecover(prover)) throw refuse(linkWallet, 'proof_not_sufficient', {});
      if (wallets.length >= MAX_WALLETS) throw refuse(linkWallet, 'too_many_wallets', { maximum: MAX_WALLETS });
      const row = await this.wallets.addLinked(
        tx,
        accountId,
        added.wallet,
        label ?? null,
        normalizeCapabilities(input.capabilities),
      );
      if (!row) throw refuse(linkWallet, 'wallet_already_linked', {});
      this.outbox.add(
        tx,
        walletLinked,
        { accountId, ...added.wallet, linkedAt: row.created_at.toISOString() },
        context,
      );
      return toLinkedWallet(row);
    });
  }
}
