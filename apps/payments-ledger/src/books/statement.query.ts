import type { InputOf, OutputOf } from '@market/contracts';
import { getStatement, statementPeriod } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toUsdAmount } from '../fees/usd-amount.js';
import { SALE_REASONS } from '../journal/posting.js';
import { LedgerQuery } from './ledger.query.js';

interface AccountRow {
  account: string;
  opening: string;
  closing: string;
  earned: string;
  spent: string;
  fees: string;
  fees_paid: string;
  refunds_due: string;
  refunds_received: string;
  refunds_owed: string;
  refunds_paid: string;
  payouts: string;
}
type Total = Exclude<keyof AccountRow, 'account'>;

const SIGNED = `CASE o.direction WHEN 'credit' THEN o.amount_micros ELSE -o.amount_micros END`;
const IS_SALE = `t.reason IN (${SALE_REASONS.map((reason) => `'${reason}'`).join(', ')})`;
const moved = (direction: 'debit' | 'credit', condition: string): string =>
  `coalesce(sum(o.amount_micros) FILTER (WHERE t.recorded_at < $3 AND o.direction = '${direction}' AND ${condition}), 0)`;

/**
 * Balances are computed backwards from the current ones, so the cost of a period depends on what was recorded since it
 * began.
 */
const summed = sql(
  'statements.sum',
  `SELECT a.address AS account,
     a.balance_micros - coalesce(sum(${SIGNED}), 0) AS opening,
     a.balance_micros - coalesce(sum(${SIGNED}) FILTER (WHERE t.recorded_at >= $3), 0) AS closing,
     ${moved('credit', `o.type = 'seller_credit' AND ${IS_SALE}`)} AS earned,
     ${moved('debit', `o.type = 'direct_payment'`)} AS spent,
     ${moved('debit', `o.type = 'marketplace_fee'`)} AS fees,
     ${moved('credit', `o.type = 'marketplace_fee'`)} AS fees_paid,
     ${moved('credit', `o.account LIKE 'agent:%:refunds'`)} AS refunds_due,
     ${moved('debit', `o.account LIKE 'agent:%:refunds'`)} AS refunds_received,
     ${moved('debit', `o.account LIKE 'agent:%:owed'`)} AS refunds_owed,
     ${moved('credit', `o.account LIKE 'agent:%:owed'`)} AS refunds_paid,
     ${moved('debit', `o.account LIKE 'agent:%:earnings%' AND NOT ${IS_SALE}`)} AS payouts
   FROM balances a
   LEFT JOIN (postings o JOIN journal_transactions t ON t.sequence = o.sequence AND t.recorded_at >= $2)
     ON o.account = a.address AND o.owner_id = $1
   WHERE a.owner_id = $1 GROUP BY a.address, a.balance_micros ORDER BY a.address`,
);

/** One period of the caller's ledger. */
@Injectable()
export class StatementQuery {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerQuery,
  ) {}

  @HandleRequest(getStatement)
  async get(
    { month, ...page }: InputOf<typeof getStatement>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getStatement>> {
    const period = statementPeriod(month);
    invariant(period, 'the input was checked');
    const { from, to } = period;
    const [rows, entries] = await Promise.all([
      this.database.query<AccountRow>(summed, [principalOf(context).accountId, from, to]),
      this.ledger.list({ ...page, from, to }, context),
    ]);
    const total = (name: Total) => toUsdAmount(rows.reduce((sum, row) => sum + BigInt(row[name]), 0n));
    return {
      month,
      from,
      to,
      currency: 'USD',
      opening_balance: total('opening'),
      closing_balance: total('closing'),
      accounts: rows.map(({ account, opening, closing }) => ({
        account,
        opening_balance: toUsdAmount(BigInt(opening)),
        closing_balance: toUsdAmount(BigInt(closing)),
      })),
      totals: {
        earned: total('earned'),
        spent: total('spent'),
        fees: total('fees'),
        fees_paid: total('fees_paid'),
        refunds_due: total('refunds_due'),
        refunds_received: total('refunds_received'),
        refunds_owed: total('refunds_owed'),
        refunds_paid: total('refunds_paid'),
        payouts: total('payouts'),
      },
      entries,
    };
  }
}
