import { listingChanged, listingWorkSolved } from '@market/contracts/catalog';
import { agentClaimed, agentRegistered, registrationWorkSolved, walletLinked } from '@market/contracts/identity';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { AccountClusters, type AccountLink } from './account-clusters.js';

const recordRegistrations = sql(
  'registration-facts.record',
  'INSERT INTO registration_facts SELECT * FROM jsonb_populate_recordset(NULL::registration_facts, $1) ON CONFLICT DO NOTHING',
);
const recordWallets = sql(
  'wallet-facts.record',
  'INSERT INTO wallet_facts SELECT * FROM jsonb_populate_recordset(NULL::wallet_facts, $1) ON CONFLICT DO NOTHING',
);
const recordClaims = sql(
  'claim-facts.record',
  'INSERT INTO claim_facts SELECT * FROM jsonb_populate_recordset(NULL::claim_facts, $1) ON CONFLICT DO NOTHING',
);
const recordWork = sql(
  'work-facts.record',
  'INSERT INTO work_facts SELECT * FROM jsonb_populate_recordset(NULL::work_facts, $1) ON CONFLICT DO NOTHING',
);
const holdersOf = sql(
  'wallet-facts.holders',
  'SELECT address, account_id FROM wallet_facts WHERE address = ANY($1::text[])',
);
const keepListing = sql(
  'listings.keep',
  `INSERT INTO listings AS known (listing_id, version, category_id, category_name, category_slug) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (listing_id) DO UPDATE SET
     version = excluded.version, category_id = excluded.category_id,
     category_name = excluded.category_name, category_slug = excluded.category_slug
   WHERE known.version < excluded.version`,
);
const seen = sql(
  'accounts.seen',
  `INSERT INTO accounts AS known (account_id, party_id, last_active_at)
   SELECT account_id, account_id, max(at)
   FROM unnest($1::uuid[], $2::timestamptz[]) AS seen (account_id, at) GROUP BY account_id ORDER BY account_id
   ON CONFLICT (account_id) DO UPDATE SET last_active_at = greatest(known.last_active_at, excluded.last_active_at)`,
);

/** Stores facts about accounts and listings: registrations, wallets, claims, proofs of work and categories. */
@Controller()
export class AccountFactsEventController {
  constructor(private readonly clusters: AccountClusters) {}

  @HandleEvent(agentRegistered)
  async onAgentRegistered(events: ReceivedEvent<typeof agentRegistered>[], tx: Tx): Promise<void> {
    const agents = events.map((event) => event.payload).filter(({ agent }) => agent.account_type === 'agent');
    await tx.query(recordRegistrations, [
      JSON.stringify(agents.map(({ agent, registeredAt }) => ({ account_id: agent.id, registered_at: registeredAt }))),
    ]);
    await tx.query(seen, [agents.map(({ agent }) => agent.id), agents.map(({ registeredAt }) => registeredAt)]);
  }

  /** Accounts that hold the same wallet belong to one party. */
  @HandleEvent(walletLinked)
  async onWalletLinked(events: ReceivedEvent<typeof walletLinked>[], tx: Tx): Promise<void> {
    const links = events.map(({ payload }) => ({
      account_id: payload.accountId,
      address: payload.chainType === 'evm' ? payload.address.toLowerCase() : payload.address,
      linked_at: payload.linkedAt,
    }));
    await this.clusters.lock(tx);
    await tx.query(recordWallets, [JSON.stringify(links)]);
    const holders = await tx.query<{ address: string; account_id: string }>(holdersOf, [
      links.map((link) => link.address),
    ]);
    await this.clusters.merge(
      tx,
      links.flatMap((link) =>
        holders
          .filter((holder) => holder.address === link.address)
          .map((holder): AccountLink => [link.account_id, holder.account_id]),
      ),
    );
  }

  @HandleEvent(agentClaimed)
  async onAgentClaimed(events: ReceivedEvent<typeof agentClaimed>[], tx: Tx): Promise<void> {
    const claims = events.map(({ payload }) => ({
      agent_id: payload.agentId,
      human_id: payload.humanId,
      claimed_at: payload.claimedAt,
    }));
    await this.clusters.lock(tx);
    await tx.query(recordClaims, [JSON.stringify(claims)]);
    await this.clusters.merge(
      tx,
      claims.map(({ agent_id, human_id }): AccountLink => [agent_id, human_id]),
    );
  }

  @HandleEvent(registrationWorkSolved)
  async onRegistrationWorkSolved(events: ReceivedEvent<typeof registrationWorkSolved>[], tx: Tx): Promise<void> {
    await this.keepWork(tx, events);
  }

  @HandleEvent(listingWorkSolved)
  async onListingWorkSolved(events: ReceivedEvent<typeof listingWorkSolved>[], tx: Tx): Promise<void> {
    await this.keepWork(tx, events);
  }

  @HandleEvent(listingChanged)
  async onListingChanged(events: ReceivedEvent<typeof listingChanged>[], tx: Tx): Promise<void> {
    const listings = events.map((event) => event.payload).sort((a, b) => (a.listingId < b.listingId ? -1 : 1));
    for (const { listingId, version, category } of listings)
      await tx.query(keepListing, [
        listingId,
        version,
        category?.id ?? null,
        category?.name ?? null,
        category?.slug ?? null,
      ]);
  }

  private async keepWork(
    tx: Tx,
    events: ReceivedEvent<typeof registrationWorkSolved | typeof listingWorkSolved>[],
  ): Promise<void> {
    const work = events.map(({ id, payload }) => ({
      event_id: id,
      account_id: payload.accountId,
      solve_ms: payload.solveMs,
      solved_at: payload.solvedAt,
    }));
    await tx.query(recordWork, [JSON.stringify(work)]);
    await tx.query(seen, [work.map((done) => done.account_id), work.map((done) => done.solved_at)]);
  }
}
