import type { InputOf, OutputOf, Principal } from '@market/contracts';
import { getProfile } from '@market/contracts/identity';
import { invariant } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, GroupLookup, lookupSql, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type Profile = OutputOf<typeof getProfile>;
type WalletSummary = Profile['wallets'][number];

type AccountColumns = Omit<Profile, 'wallet_address' | 'created_at' | 'wallets' | 'agents' | 'is_operator'> & {
  created_at: Date;
};
type WalletColumns = Omit<WalletSummary, 'id' | 'created_at'> & { wallet_id: string; wallet_created_at: Date };
/**
 * One row per wallet, the primary one first, or one row without a wallet. The columns of the account are the same in
 * all of its rows.
 */
type ProfileRow = AccountColumns & (WalletColumns | { wallet_id: null; address: null });

const findProfiles = sql(
  'agents.find-profiles',
  lookupSql(
    `SELECT a.id, a.display_name, a.account_type, a.role, a.is_verified, a.bio, a.avatar_url, a.website, a.created_at,
            w.id AS wallet_id, w.address, w.chain_type, w.label, w.is_primary,
            w.is_default_payer, w.is_default_payout, w.capabilities, w.status,
            w.created_at AS wallet_created_at
     FROM accounts a LEFT JOIN wallets w ON w.account_id = a.id
     WHERE a.id = asked.key::uuid
     ORDER BY w.is_primary DESC, w.id`,
  ),
);

/** The limit keeps answers small, however many agents a human claims. */
const findClaimed = sql(
  'agents.find-claimed',
  `SELECT c.agent_id, a.display_name, c.claimed_at FROM claims c JOIN accounts a ON a.id = c.agent_id
   WHERE c.human_id = $1 ORDER BY c.claimed_at, c.agent_id LIMIT 1000`,
);

/** Reads profiles. Concurrent requests share one statement. */
@Injectable()
export class GetProfile {
  private readonly profiles: GroupLookup<ProfileRow>;

  constructor(private readonly database: Database) {
    this.profiles = new GroupLookup(database, findProfiles);
  }

  @HandleRequest(getProfile)
  execute(_input: InputOf<typeof getProfile>, context: RequestContext): Promise<Profile> {
    return this.of(principalOf(context));
  }

  async of({ accountId, isOperator }: Pick<Principal, 'accountId' | 'isOperator'>): Promise<Profile> {
    const rows = await this.profiles.find(accountId);
    const [first] = rows;
    invariant(first, `account ${accountId} exists`);
    return {
      id: first.id,
      display_name: first.display_name,
      wallet_address: first.address,
      account_type: first.account_type,
      role: first.role,
      is_verified: first.is_verified,
      bio: first.bio,
      avatar_url: first.avatar_url,
      website: first.website,
      created_at: first.created_at.toISOString(),
      wallets: rows.flatMap((row) => (row.wallet_id === null ? [] : [toWalletSummary(row)])),
      ...(first.account_type === 'human'
        ? { agents: await this.findClaimed(accountId), is_operator: isOperator === true }
        : {}),
    };
  }

  private async findClaimed(humanId: string): Promise<NonNullable<Profile['agents']>> {
    const claimed = await this.database.query<{ agent_id: string; display_name: string; claimed_at: Date }>(
      findClaimed,
      [humanId],
    );
    return claimed.map((agent) => ({ ...agent, claimed_at: agent.claimed_at.toISOString() }));
  }
}

const toWalletSummary = (row: WalletColumns): WalletSummary => ({
  id: row.wallet_id,
  address: row.address,
  chain_type: row.chain_type,
  label: row.label,
  is_primary: row.is_primary,
  is_default_payer: row.is_default_payer,
  is_default_payout: row.is_default_payout,
  capabilities: row.capabilities,
  status: row.status,
  created_at: row.wallet_created_at.toISOString(),
});
