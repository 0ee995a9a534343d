import { formatDecimal } from '@market/kernel';
import { Database, sql } from '@market/persistence';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { messageOf } from './message-of.js';
import { paymentColumns, watchedOffer, type PaymentRow } from './payment.js';

interface OpenPayment extends PaymentRow {
  /** The signed payment whose outcome is unknown. */
  attempts: number | null;
  tried_at: Date | null;
  valid_before: Date | null;
  /** True if a job should have ended the payment long ago. */
  is_overdue: boolean;
}

/** Payments that a job should have ended more than ten minutes ago. */
const open = sql(
  'payments.open-longer-than-expected',
  `SELECT * FROM (
     SELECT ${paymentColumns('p')}, a.attempts, a.tried_at, a.valid_before,
       CASE p.state
         WHEN 'verified' THEN p.verified_at
         WHEN 'indeterminate' THEN a.tried_at
         ELSE p.expires_at END AS since,
       now() > interval '10 minutes' + CASE p.state
         WHEN 'verified' THEN p.retry_until
         WHEN 'indeterminate' THEN a.valid_before + interval '1 hour'
         ELSE p.expires_at END AS is_overdue
     FROM payments p LEFT JOIN authorizations a ON a.id = p.authorization_id AND a.state = 'settling'
     WHERE p.state IN ('pending', 'underpaid', 'verified', 'indeterminate')
   ) o WHERE is_overdue IS DISTINCT FROM false OR state = 'indeterminate'
     OR (state = 'verified' AND since < now() - interval '10 minutes')
   ORDER BY created_at, id`,
);
const PAGE = 200;
const FIRST = '00000000-0000-0000-0000-000000000000';
/** Payments for which an external provider received money and which that money did not complete. */
const undelivered = sql(
  'payments.carried-for-nothing',
  `SELECT ${paymentColumns('p')} FROM payments p
   WHERE rail = ANY($1::text[]) AND state IN ('failed', 'refund_due') AND expires_at > now() - interval '30 days' AND id > $2
   ORDER BY id LIMIT ${PAGE}`,
);

/** Amounts that are owed to buyers and not paid, with the part that is the seller's debt. */
const owed = sql(
  'payments.owed-back',
  `SELECT p.id, p.rail, p.state, p.created_at, p.buyer_id, p.seller_id,
     string_agg(DISTINCT x.reason, ', ') AS reasons, sum(x.amount_micros) AS micros,
     coalesce(sum(x.amount_micros) FILTER (WHERE x.owed_by = 'seller'), 0) AS sellers_micros
   FROM refunds x JOIN payments p ON p.id = x.payment_id WHERE x.refunded_at IS NULL GROUP BY p.id ORDER BY p.id`,
);

interface OwedBack extends Pick<PaymentRow, 'id' | 'rail' | 'state' | 'created_at' | 'buyer_id' | 'seller_id'> {
  reasons: string;
  micros: string;
  sellers_micros: string;
}

type Explanation = { explained: boolean; why: string };

/** `market-admin payments report`. It only reads and can run while the services run. */
export const reportPayments: CommandDefinition = {
  name: 'payments report',
  help:
    'prints payments that are open longer than expected, what Relay received without a call, and unpaid refunds ' +
    'with their debtors; ends with 1 if a payment is unexplained',
  async run(container) {
    const database = container.get(Database);
    const rails = container.get<PaymentRail[]>(PAYMENT_RAILS);
    const waiting = await Promise.all(
      (await database.query<OpenPayment>(open)).map(async (payment) => {
        const { explained, why } = await explain(
          payment,
          rails.find(({ id }) => id === payment.rail),
        );
        return {
          explained,
          line: [
            explained ? 'open' : 'unexplained',
            payment.id,
            payment.rail,
            payment.state,
            payment.created_at.toISOString(),
            why,
          ],
        };
      }),
    );
    const report = [...waiting, ...(await carried(database, rails)), ...(await owedBack(database))];
    const text = report.map(({ line }) => line.join('\t')).join('\n');
    if (report.some(({ explained }) => !explained)) throw new CommandFailure(text);
    return text || 'no payment is open longer than expected, and nothing is owed back';
  },
};

async function owedBack(database: Database): Promise<{ explained: boolean; line: string[] }[]> {
  const rows = await database.query<OwedBack>(owed);
  return rows.map(({ id, rail, state, created_at, buyer_id, seller_id, reasons, ...amounts }) => {
    const [all, sellers] = [BigInt(amounts.micros), BigInt(amounts.sellers_micros)];
    const parts = [
      ...(sellers > 0n ? [`$${formatDecimal(sellers, 6)} by its seller ${seller_id}, who has it`] : []),
      ...(all > sellers ? [`$${formatDecimal(all - sellers, 6)} by you`] : []),
    ];
    return {
      explained: true,
      line: [
        'owed',
        id,
        rail,
        state,
        created_at.toISOString(),
        `$${formatDecimal(all, 6)} to ${buyer_id} (${reasons}): ${parts.join(' and ')}`,
      ],
    };
  });
}

async function explain(payment: OpenPayment, rail: PaymentRail | undefined): Promise<Explanation> {
  if (!rail) return { explained: false, why: `its rail ${payment.rail} is not configured here` };
  switch (payment.state) {
    case 'indeterminate':
      if (!payment.tried_at || !payment.valid_before)
        return { explained: false, why: 'it has no signed payment whose settlement is open' };
      return {
        explained: !payment.is_overdue,
        why:
          `handed to the facilitator ${payment.attempts} times, last ${payment.tried_at.toISOString()}, ` +
          `and its outcome is unknown; the signature is good until ${payment.valid_before.toISOString()}` +
          (payment.is_overdue ? '; `payments end` ends it where no RPC server is named' : ''),
      };
    case 'verified':
      return payment.is_overdue
        ? { explained: false, why: 'its window is over and it was not owed back' }
        : {
            explained: true,
            why: `paid and not delivered; its buyer may repeat the call until ${payment.retry_until!.toISOString()}`,
          };
    default:
      return explainUnpaid(payment, rail);
  }
}

async function explainUnpaid(payment: PaymentRow, rail: PaymentRail): Promise<Explanation> {
  try {
    const { arriving } = await rail.observe(watchedOffer(payment));
    return arriving
      ? { explained: true, why: 'money is on its way and not final' }
      : { explained: false, why: 'its time is over and nothing is on its way' };
  } catch (error) {
    return { explained: true, why: `its rail does not know what came: ${messageOf(error)}` };
  }
}

/** Asks for one payment after the other, because the provider limits requests. */
async function carried(database: Database, rails: PaymentRail[]): Promise<{ explained: boolean; line: string[] }[]> {
  const lines: { explained: boolean; line: string[] }[] = [];
  const carriers = rails.filter((rail) => rail.disposition);
  for (let after = FIRST; ;) {
    const page = await database.query<PaymentRow>(undelivered, [carriers.map(({ id }) => id), after]);
    for (const payment of page) {
      const disposition = await dispositionOf(
        payment,
        carriers.find(({ id }) => id === payment.rail)!,
      );
      if (disposition)
        lines.push({
          explained: disposition.explained,
          line: [
            disposition.explained ? 'carried' : 'unexplained',
            payment.id,
            payment.rail,
            payment.state,
            payment.created_at.toISOString(),
            disposition.why,
          ],
        });
    }
    if (page.length < PAGE) return lines;
    after = page[page.length - 1]!.id;
  }
}

async function dispositionOf(payment: PaymentRow, rail: PaymentRail): Promise<Explanation | null> {
  try {
    return await rail.disposition!(watchedOffer(payment));
  } catch (error) {
    return { explained: true, why: `its rail does not know what came: ${messageOf(error)}` };
  }
}
