import { batchSql, sql, type Statement, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { NOTABLE_MICROS, roundedDown, roundedUp, standingOf, UNKNOWN_STANDING, type Standing } from './score.js';

/** What others see of a party. */
export interface PartyView extends Standing {
  /** In order. Empty for a party that is not there. */
  members: string[];
  /** Rounded down. */
  revenue: bigint;
  /** The sellers it pays most, by their party, rounded up. */
  ties: Map<string, bigint>;
}

/** Enough to be credible; who pays more sellers than this has nothing more to prove. */
const TIES = 32;
/** The largest customers stand for all. */
const CUSTOMERS = 500;

const findMembers = sql(
  'standings.members',
  'SELECT account_id, spent_micros, earned_micros, first_purchase_at, last_purchase_at FROM accounts WHERE party_id = $1 ORDER BY account_id',
);
const sumWithin = sql('standings.traded-within', 'SELECT coalesce(sum(paid_micros), 0)::bigint AS paid FROM trades WHERE seller_id = ANY($1::uuid[]) AND buyer_id = ANY($1::uuid[])');
const sumEarnings = sql(
  'standings.earnings',
  `SELECT coalesce(sum(largest.paid_micros), 0)::bigint AS "all", coalesce(sum(largest.paid_micros) FILTER (WHERE NOT coalesce(customer.is_net_payer, false)), 0)::bigint AS circulating
   FROM (SELECT buyer_id, paid_micros FROM trades WHERE seller_id = ANY($2::uuid[]) ORDER BY paid_micros DESC, buyer_id, listing_id LIMIT ${CUSTOMERS}) largest
   JOIN accounts buyer ON buyer.account_id = largest.buyer_id LEFT JOIN parties customer ON customer.party_id = buyer.party_id
   WHERE buyer.party_id <> $1`,
);
const findTies = sql(
  'standings.pays',
  `SELECT seller.party_id, sum(trade.paid_micros)::bigint AS paid FROM trades trade JOIN accounts seller ON seller.account_id = trade.seller_id
   WHERE trade.buyer_id = ANY($2::uuid[]) AND seller.party_id <> $1
   GROUP BY seller.party_id HAVING sum(trade.paid_micros) >= ${NOTABLE_MICROS} ORDER BY paid DESC, seller.party_id LIMIT ${TIES}`,
);
const findKept = sql(
  'parties.find',
  `SELECT members, revenue_micros, is_net_payer, is_funded, tenure,
     (SELECT coalesce(jsonb_object_agg(seller_party, paid_micros::text), '{}') FROM ties WHERE buyer_party = party_id) AS ties
   FROM parties WHERE party_id = $1`,
);
const keep = sql(
  'parties.keep',
  `INSERT INTO parties (party_id, members, revenue_micros, is_net_payer, is_funded, tenure) VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (party_id) DO UPDATE SET members = excluded.members, revenue_micros = excluded.revenue_micros, is_net_payer = excluded.is_net_payer, is_funded = excluded.is_funded, tenure = excluded.tenure`,
);
const dropTies = sql('ties.drop', 'DELETE FROM ties WHERE buyer_party = $1');
const keepTies = sql('ties.keep', 'INSERT INTO ties (buyer_party, seller_party, paid_micros) SELECT $1, seller_party, paid FROM unnest($2::uuid[], $3::bigint[]) AS tie (seller_party, paid)');

const markScores = batchSql(`
  INSERT INTO stale_scores (agent_id, since)
  SELECT agent_id, now() FROM (
    SELECT unnest($1::uuid[]) AS agent_id
    UNION SELECT seller_id FROM trades WHERE buyer_id = ANY($2::uuid[])
    UNION SELECT trade.seller_id FROM ties JOIN accounts buyer ON buyer.party_id = ties.buyer_party JOIN trades trade ON trade.buyer_id = buyer.account_id WHERE ties.seller_party = ANY($3::uuid[])
  ) concerned ORDER BY agent_id ON CONFLICT (agent_id) DO UPDATE SET since = excluded.since`);
const markAccounts = batchSql(`
  INSERT INTO stale_accounts (account_id, cause, since)
  SELECT DISTINCT seller_id, 'customers', now() FROM trades WHERE buyer_id = ANY($1::uuid[]) ORDER BY seller_id
  ON CONFLICT (account_id, cause) DO UPDATE SET since = excluded.since`);

interface MemberRow {
  account_id: string;
  spent_micros: string;
  earned_micros: string;
  first_purchase_at: Date | null;
  last_purchase_at: Date | null;
}

interface KeptRow {
  members: string[];
  revenue_micros: string;
  is_net_payer: boolean;
  is_funded: boolean;
  tenure: number;
  ties: Record<string, string>;
}

/**
 * What a party's trades say of it to its partners. It is kept beside the trades and rounded, so that it changes a few
 * times for each doubling of a party's trade and not with every call: only then do its partners' scores follow.
 */
@Injectable()
export class Standings {
  /** Looks at these parties anew, keeps what is seen, and marks every score that it changes. Queries: 2 to 5 a party, 0 to 3 more where it changed, and 2 for all. */
  async refresh(tx: Pick<Tx, 'query'>, partyIds: string[]): Promise<void> {
    const rescored: string[] = [];
    const seenAsBuyers: string[] = [];
    const seenAsSellers: string[] = [];
    const seenAsNetPayers: string[] = [];
    for (const partyId of partyIds) {
      const kept = await this.kept(tx, partyId);
      const current = await this.current(tx, partyId);
      if (current.members.length === 0 || isDeepStrictEqual(current, kept)) continue;
      await this.keep(tx, partyId, current, kept);
      rescored.push(...current.members);
      if (!isDeepStrictEqual(asBuyer(current), asBuyer(kept))) seenAsBuyers.push(...current.members);
      if (current.revenue !== kept.revenue) seenAsSellers.push(partyId);
      if (current.isNetPayer !== kept.isNetPayer) seenAsNetPayers.push(...current.members);
    }
    if (rescored.length > 0) await tx.query(markScores, [rescored, seenAsBuyers, seenAsSellers]);
    if (seenAsNetPayers.length > 0) await tx.query(markAccounts, [seenAsNetPayers]);
  }

  /** As the trades say it now. */
  async current(tx: Pick<Tx, 'query'>, partyId: string): Promise<PartyView> {
    const rows = await tx.query<MemberRow>(findMembers, [partyId]);
    const members = rows.map((row) => row.account_id);
    if (members.length === 0) return NOBODY;
    const within = members.length === 1 ? 0n : BigInt((await one<{ paid: string }>(tx, sumWithin, [members])).paid);
    const spent = rows.reduce((total, row) => total + BigInt(row.spent_micros), -within);
    const earned = rows.reduce((total, row) => total + BigInt(row.earned_micros), -within);
    const earnings = spent > 0n && earned > 0n ? await one<{ all: string; circulating: string }>(tx, sumEarnings, [partyId, members]) : { all: '0', circulating: '0' };
    const ties = spent > 0n ? await tx.query<{ party_id: string; paid: string }>(findTies, [partyId, members]) : [];
    const purchases = rows.flatMap(({ first_purchase_at, last_purchase_at }) => (first_purchase_at && last_purchase_at ? [first_purchase_at, last_purchase_at] : [])).sort((a, b) => a.getTime() - b.getTime());
    return {
      members,
      revenue: roundedDown(earned),
      ties: new Map(ties.map(({ party_id, paid }) => [party_id, roundedUp(BigInt(paid))])),
      ...standingOf({ spent, earned, sampledEarnings: { all: BigInt(earnings.all), circulating: BigInt(earnings.circulating) }, firstPurchaseAt: purchases[0] ?? null, lastPurchaseAt: purchases.at(-1) ?? null }),
    };
  }

  /** As others see it. */
  async kept(tx: Pick<Tx, 'query'>, partyId: string): Promise<PartyView> {
    const [row] = await tx.query<KeptRow>(findKept, [partyId]);
    if (!row) return NOBODY;
    return {
      members: row.members,
      revenue: BigInt(row.revenue_micros),
      ties: new Map(Object.entries(row.ties).map(([seller, paid]) => [seller, BigInt(paid)])),
      isNetPayer: row.is_net_payer,
      isFunded: row.is_funded,
      tenure: row.tenure,
    };
  }

  private async keep(tx: Pick<Tx, 'query'>, partyId: string, { members, revenue, isNetPayer, isFunded, tenure, ties }: PartyView, kept: PartyView): Promise<void> {
    await tx.query(keep, [partyId, members, revenue.toString(), isNetPayer, isFunded, tenure]);
    if (isDeepStrictEqual(ties, kept.ties)) return;
    if (kept.ties.size > 0) await tx.query(dropTies, [partyId]);
    await tx.query(keepTies, [partyId, [...ties.keys()], [...ties.values()].map(String)]);
  }
}

const asBuyer = ({ members, isFunded, tenure, ties }: PartyView): unknown => [members, isFunded, tenure, ties];
const NOBODY: PartyView = { members: [], revenue: 0n, ties: new Map(), ...UNKNOWN_STANDING };

async function one<Row>(tx: Pick<Tx, 'query'>, statement: Statement, values: unknown[]): Promise<Row> {
  const [row] = await tx.query<Row>(statement, values);
  return row!;
}
