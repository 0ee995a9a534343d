import { listingChanged, listingWorkSolved } from '@market/contracts/catalog';
import { agentClaimed, agentRegistered, registrationWorkSolved, walletLinked } from '@market/contracts/identity';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Parties, type Kinship } from './parties.js';
import { Trades } from './trades.js';

const recordRegistrations = sql('registration-facts.record', 'INSERT INTO registration_facts (account_id, registered_at) SELECT * FROM unnest($1::uuid[], $2::timestamptz[]) ON CONFLICT DO NOTHING');
const recordWallets = sql('wallet-facts.record', 'INSERT INTO wallet_facts (address, account_id, chain_type, linked_at) SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[]) ON CONFLICT DO NOTHING');
const holdersOf = sql('wallet-facts.holders', 'SELECT address, account_id FROM wallet_facts WHERE address = ANY($1::text[])');
const recordClaims = sql('claim-facts.record', 'INSERT INTO claim_facts (agent_id, human_id, claimed_at) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) ON CONFLICT DO NOTHING');
const recordWork = sql(
  'work-facts.record',
  'INSERT INTO work_facts (event_id, account_id, purpose, difficulty, solve_ms, solved_at) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[], $6::timestamptz[]) ON CONFLICT DO NOTHING',
);
const keepListing = sql(
  'listings.keep',
  `INSERT INTO listings AS known (listing_id, version, category_id, category_name, category_slug) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (listing_id) DO UPDATE SET version = excluded.version, category_id = excluded.category_id, category_name = excluded.category_name, category_slug = excluded.category_slug
   WHERE known.version < excluded.version`,
);
const seen = sql(
  'accounts.seen',
  `INSERT INTO accounts AS known (account_id, party_id, last_active_at)
   SELECT account_id, account_id, max(at) FROM unnest($1::uuid[], $2::timestamptz[]) AS seen (account_id, at) GROUP BY account_id ORDER BY account_id
   ON CONFLICT (account_id) DO UPDATE SET last_active_at = greatest(known.last_active_at, excluded.last_active_at)`,
);

/** Keeps who is who: registrations, wallets, claims, the work agents did, and what category a listing is in. */
@Injectable()
export class AccountFacts {
  constructor(
    private readonly trades: Trades,
    private readonly parties: Parties,
  ) {}

  @HandleEvent(agentRegistered)
  async onAgentRegistered(events: ReceivedEvent<typeof agentRegistered>[], tx: Tx): Promise<void> {
    const agents = events.map((event) => event.payload).filter(({ agent }) => agent.account_type === 'agent');
    const columns = [agents.map(({ agent }) => agent.id), agents.map(({ registeredAt }) => registeredAt)];
    await tx.query(recordRegistrations, columns);
    await tx.query(seen, columns);
    await this.trades.markStale(tx, agents.map(({ agent }) => agent.id));
  }

  /** A wallet that two accounts hold makes them one party. */
  @HandleEvent(walletLinked)
  async onWalletLinked(events: ReceivedEvent<typeof walletLinked>[], tx: Tx): Promise<void> {
    const links = events.map(({ payload }) => ({ ...payload, address: payload.chainType === 'evm' ? payload.address.toLowerCase() : payload.address }));
    await this.parties.takeTurns(tx);
    await tx.query(recordWallets, [links.map((link) => link.address), links.map((link) => link.accountId), links.map((link) => link.chainType), links.map((link) => link.linkedAt)]);
    const holders = await tx.query<{ address: string; account_id: string }>(holdersOf, [links.map((link) => link.address)]);
    await this.parties.unite(
      tx,
      links.flatMap(({ address, accountId }) => holders.filter((holder) => holder.address === address).map(({ account_id }): Kinship => [accountId, account_id])),
    );
  }

  @HandleEvent(agentClaimed)
  async onAgentClaimed(events: ReceivedEvent<typeof agentClaimed>[], tx: Tx): Promise<void> {
    const claims = events.map((event) => event.payload);
    await this.parties.takeTurns(tx);
    await tx.query(recordClaims, [claims.map((claim) => claim.agentId), claims.map((claim) => claim.humanId), claims.map((claim) => claim.claimedAt)]);
    await this.parties.unite(tx, claims.map(({ agentId, humanId }): Kinship => [agentId, humanId]));
  }

  @HandleEvent(registrationWorkSolved)
  async onRegistrationWorkSolved(events: ReceivedEvent<typeof registrationWorkSolved>[], tx: Tx): Promise<void> {
    await this.keepWork(tx, 'registration', events);
  }

  @HandleEvent(listingWorkSolved)
  async onListingWorkSolved(events: ReceivedEvent<typeof listingWorkSolved>[], tx: Tx): Promise<void> {
    await this.keepWork(tx, 'listing', events);
  }

  @HandleEvent(listingChanged)
  async onListingChanged(events: ReceivedEvent<typeof listingChanged>[], tx: Tx): Promise<void> {
    const listings = events.map((event) => event.payload).sort((a, b) => (a.listingId < b.listingId ? -1 : 1));
    for (const { listingId, version, category } of listings) await tx.query(keepListing, [listingId, version, category?.id ?? null, category?.name ?? null, category?.slug ?? null]);
    await this.trades.markStale(tx, listings.map(({ sellerId }) => sellerId));
  }

  private async keepWork(tx: Tx, purpose: 'registration' | 'listing', events: ReceivedEvent<typeof registrationWorkSolved | typeof listingWorkSolved>[]): Promise<void> {
    const work = events.map((event) => event.payload);
    const accountIds = work.map((done) => done.accountId);
    await tx.query(recordWork, [events.map((event) => event.id), accountIds, work.map(() => purpose), work.map((done) => done.difficulty), work.map((done) => done.solveMs), work.map((done) => done.solvedAt)]);
    await tx.query(seen, [accountIds, work.map((done) => done.solvedAt)]);
    await this.trades.markStale(tx, accountIds);
  }
}
