import type { PayloadOf } from '@market/contracts';
import type { sellerStandingChanged } from '@market/contracts/payments-ledger';
import { getAgents, type agentSuspensionChanged, type PublicProfile } from '@market/contracts/identity';
import { invariant } from '@market/kernel';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const exists = sql('providers.exists', 'SELECT 1 FROM providers WHERE id = $1');
// The profile at registration is the oldest state, and a requested profile is at least as new: neither overwrites a
// stored one.
const keep = sql(
  'providers.keep',
  `INSERT INTO providers (id, display_name, avatar_url, account_type, is_verified)
   SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::boolean[]) ON CONFLICT DO NOTHING`,
);

const mayNotSell = sql(
  'providers.may-not-sell',
  'SELECT is_suspended OR ((is_overdue OR is_unpayable) AND $2) AS may_not FROM providers WHERE id = $1 FOR SHARE',
);
const setStanding = sql(
  'providers.set-standing',
  'UPDATE providers SET is_overdue = $3, standing_version = $2 WHERE id = $1 AND standing_version < $2 RETURNING id',
);

const setPayable = sql(
  'providers.set-payable',
  'UPDATE providers SET is_unpayable = NOT $2 WHERE id = $1 AND is_unpayable = $2 RETURNING id',
);

const setSuspension = sql(
  'providers.set-suspension',
  'UPDATE providers SET is_suspended = $3, suspension_version = $2 WHERE id = $1 AND suspension_version < $2 RETURNING id',
);

/** Stores what listings show of their sellers, a projection of public profiles, and whether the sellers may sell. */
@Injectable()
export class Providers {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  /** Requests a seller's profile from identity if the event of its registration has not arrived yet. */
  async ensureKnown(id: string, context: RequestContext): Promise<void> {
    if ((await this.database.query(exists, [id])).length > 0) return;
    const { agents } = await this.bus.request(getAgents, { ids: [id] }, context);
    invariant(agents.length === 1, 'identity knows every account it authenticated');
    await this.keep(this.database, agents);
  }

  /**
   * Returns whether the seller's listings, or only its paid ones, are off the market. A lock keeps the answer valid
   * until the transaction ends.
   */
  async mayNotSell(tx: Tx, id: string, isPaid: boolean): Promise<boolean> {
    return (await tx.query<{ may_not: boolean }>(mayNotSell, [id, isPaid]))[0]?.may_not === true;
  }

  /** @returns false if a newer version is stored, or the seller is unknown. */
  async setStanding(
    tx: Tx,
    { sellerId, version, isOverdue }: PayloadOf<typeof sellerStandingChanged>,
  ): Promise<boolean> {
    return (await tx.query(setStanding, [sellerId, version, isOverdue])).length > 0;
  }

  /** @returns false if that is known, or the seller is unknown. */
  async setPayable(tx: Tx, id: string, isPayable: boolean): Promise<boolean> {
    return (await tx.query(setPayable, [id, isPayable])).length > 0;
  }

  /** @returns false if a newer version is stored, or the seller is unknown. */
  async setSuspension(
    tx: Tx,
    { agentId, version, isSuspended }: PayloadOf<typeof agentSuspensionChanged>,
  ): Promise<boolean> {
    return (await tx.query(setSuspension, [agentId, version, isSuspended])).length > 0;
  }

  async keep(into: Pick<Tx, 'query'>, profiles: PublicProfile[]): Promise<void> {
    await into.query(keep, [
      profiles.map((profile) => profile.id),
      profiles.map((profile) => profile.display_name),
      profiles.map((profile) => profile.avatar_url),
      profiles.map((profile) => profile.account_type),
      profiles.map((profile) => profile.is_verified),
    ]);
  }
}
