import type { InputOf, OutputOf } from '@market/contracts';
import { openSession, type PublicProfile, walletLinked } from '@market/contracts/identity';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { findHuman, openAccount, PUBLIC_COLUMNS } from '../agents/accounts.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { shortAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { Wallets } from '../wallets/wallets.js';
import { Sessions } from './sessions.js';

const findHolder = sql(
  'sessions.find-holder',
  `SELECT ${PUBLIC_COLUMNS}
   FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1`,
);

/** Signs a human in with a wallet. The first sign-in opens the account, or adds the wallet to the human's own. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
    private readonly sessions: Sessions,
  ) {}

  @HandleRequest(openSession)
  async execute(input: InputOf<typeof openSession>, context: RequestContext): Promise<OutputOf<typeof openSession>> {
    const linkTo = input.link ? context.principal : undefined;
    if (input.link && linkTo?.accountType !== 'human') throw refuse(openSession, 'link_needs_session', {});
    const { wallet } = await this.proofs.prove(openSession, 'session', input);
    return this.database.transaction(async (tx) => {
      await this.sessions.lockSignIn(tx, wallet.address);
      const [holder] = await tx.query<PublicProfile>(findHolder, [wallet.address]);
      const account = holder ?? (await this.addWallet(tx, wallet, linkTo?.accountId, context));
      if (account.account_type === 'agent') throw refuse(openSession, 'wallet_is_an_agents', {});
      if (linkTo && account.id !== linkTo.accountId) throw refuse(openSession, 'sign_in_of_another', {});
      return this.sessions.open(tx, account, wallet.address);
    });
  }

  /** Adds a wallet that no account has to this human, or to a new one. */
  private async addWallet(
    tx: Tx,
    wallet: WalletAddress,
    humanId: string | undefined,
    context: RequestContext,
  ): Promise<PublicProfile> {
    const displayName = `Operator ${shortAddress(wallet)}`;
    const added =
      humanId === undefined
        ? await openAccount(tx, wallet, { type: 'human', displayName, isRegistered: true })
        : await this.wallets.addLinked(tx, humanId, wallet, null, ['login']);
    // Only a concurrent registration can have taken the wallet after the lookup.
    if (!added) throw refuse(openSession, 'wallet_is_an_agents', {});
    const human = await findHuman(tx, humanId ?? added.id);
    this.outbox.add(
      tx,
      walletLinked,
      { accountId: human.id, ...wallet, linkedAt: added.created_at.toISOString() },
      context,
    );
    return human;
  }
}
