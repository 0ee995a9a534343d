import type { InputOf } from '@market/contracts';
import { getBalance, type BalanceView } from '@market/contracts/payments-ledger';
import type { Micros } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { toUsdAmount } from '../fees/usd-amount.js';

const balances = sql(
  'accounts.of-owner',
  'SELECT address, balance_micros FROM balances WHERE owner_id = $1 ORDER BY address',
);
const paidFees = sql(
  'fees.paid',
  `SELECT coalesce(sum(gross_micros), 0) AS paid FROM payments WHERE buyer_id = $1 AND purpose = 'fee' AND state = 'completed'`,
);
const standing = sql(
  'fee-standings.find',
  `SELECT is_overdue AND coalesce(over_limit_since < now() - $2 * interval '1 day', false) AS is_overdue,
     over_limit_since + $2 * interval '1 day' AS pay_by
   FROM fee_standings WHERE seller_id = $1`,
);

const latestPayouts = sql(
  'payouts.latest',
  'SELECT network, wallet, transaction_hash, amount_micros, confirmed_at FROM payouts WHERE seller_id = $1 ORDER BY id DESC LIMIT 20',
);

interface PayoutRow {
  network: string;
  wallet: string;
  transaction_hash: string;
  amount_micros: string;
  confirmed_at: Date;
}

/** The balance of an account, computed from its accounts in the journal. */
@Injectable()
export class BalanceQuery {
  constructor(
    private readonly database: Database,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  @HandleRequest(getBalance)
  async get(_input: InputOf<typeof getBalance>, context: RequestContext): Promise<BalanceView> {
    const { accountId } = principalOf(context);
    const { feeCreditLimitMicros, feeGraceDays } = this.config;
    const [rows, [fees], [known], payouts] = await Promise.all([
      this.database.query<{ address: string; balance_micros: string }>(balances, [accountId]),
      this.database.query<{ paid: string }>(paidFees, [accountId]),
      this.database.query<{ is_overdue: boolean; pay_by: Date | null }>(standing, [accountId, feeGraceDays]),
      this.database.query<PayoutRow>(latestPayouts, [accountId]),
    ]);
    const prefix = `agent:${accountId}:`;
    const accounts = new Map(
      rows.map(({ address, balance_micros }) => [address.slice(prefix.length), BigInt(balance_micros)] as const),
    );
    const of = (name: string): Micros => accounts.get(name) ?? 0n;
    const named = (prefix: string) => [...accounts].filter(([name]) => name.startsWith(prefix));
    const sumOf = (some: [string, Micros][]): Micros => some.reduce((sum, [, micros]) => sum + micros, 0n);
    const received = named(RECEIVED);
    const payable = sumOf(named(EARNINGS));
    const paid = BigInt(fees!.paid);
    const due = of('fees') < 0n ? -of('fees') : 0n;
    const limit = BigInt(feeCreditLimitMicros);
    return {
      currency: 'USD',
      // Fees that are paid no longer count in `fees`, but they still reduce what the sales earned.
      earned: toUsdAmount(sumOf(received) + payable + of('fees') - paid),
      received: received.map(([name, micros]) => ({ ...placeOf(name), amount: toUsdAmount(micros) })),
      payable: toUsdAmount(payable > 0n ? payable : 0n),
      payouts: payouts.map(({ amount_micros, confirmed_at, ...payout }) => ({
        ...payout,
        amount: toUsdAmount(BigInt(amount_micros)),
        confirmed_at: confirmed_at.toISOString(),
      })),
      fees: {
        due: toUsdAmount(due),
        paid: toUsdAmount(paid),
        limit: toUsdAmount(limit),
        status: known?.is_overdue ? 'overdue' : due * 2n > limit ? 'notice' : 'good',
        pay_by: known?.pay_by?.toISOString() ?? null,
      },
      refunds: { due_to_account: toUsdAmount(of('refunds')), due_by_account: toUsdAmount(-of('owed')) },
    };
  }
}

const EARNINGS = 'earnings:';
const RECEIVED = 'received:';

/** Parses `received:{CAIP-2}:{address}` or `received:{provider}`. */
function placeOf(name: string): { network: string | null; wallet: string | null } {
  const [namespace, reference, wallet] = name.slice(RECEIVED.length).split(':');
  return wallet === undefined ? { network: null, wallet: null } : { network: `${namespace}:${reference}`, wallet };
}
