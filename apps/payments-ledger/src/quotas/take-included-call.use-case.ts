import { createHash, randomBytes } from 'node:crypto';
import { INCLUDED, takeIncludedCall } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, isUniqueViolation, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { IS_USED_UP, quotaOf, toQuota, type QuotaColumns } from './call-quotas.js';

type Input = InputOf<typeof takeIncludedCall>;
type Output = OutputOf<typeof takeIncludedCall>;

/** What a buyer has to have spent here, at least, before a trial is given to it. */
const MINIMUM_SPENT_MICROS = 200_000n;
/** SQL: when a call that was lost is given back: a minute after it would have ended. */
const UNTIL = `now() + $15::int * interval '1 millisecond' + interval '1 minute'`;
/** SQL: a call of a period that includes units says what it used, and costs nothing at most. */
const USAGE = `CASE WHEN unit IS NOT NULL THEN jsonb_build_object('unit', unit, 'per', 1,
  'tiers', '[{"up_to": null, "price": 1}]'::jsonb) END`;
/** A buyer has spent enough long before that many of its purchases are summed. */
const SUMMED = 1_000;

/**
 * SQL: whether $1 has spent $2 micros on sales of which the operator has had its fee. Only that fee is lost to somebody who
 * sells to itself to look like a buyer. Where the seller received the price, it has paid fees after the sale.
 */
const HAS_SPENT = `(
  SELECT coalesce(sum(gross_micros), 0) >= $2::bigint FROM (
    SELECT p.gross_micros FROM payments p
    WHERE p.buyer_id = $1 AND p.state = 'completed' AND p.purpose IN ('call', 'subscription')
      AND (p.payee <> 'seller' OR p.authorization_id IS NULL OR EXISTS (
        SELECT FROM payments f WHERE f.buyer_id = p.seller_id AND f.purpose = 'fee' AND f.state = 'completed'
          AND f.completed_at >= p.completed_at))
    LIMIT ${SUMMED}) bought)`;

/**
 * A call of the period comes before one of the trial. Both statements count under the lock of the quota's row, so that
 * concurrent calls never take more than there are; nothing is taken for a call that is under way already.
 */
const take = sql(
  'call-quotas.take',
  `WITH open AS (
     UPDATE payments SET retry_until = greatest(retry_until, ${UNTIL})
     WHERE buyer_id = $1 AND listing_id = $3 AND body_digest = $4 AND purpose = 'included' AND state = 'verified'
     RETURNING relay_request_id
   ), period AS (
     UPDATE call_quotas q SET used = q.used + q.per_call FROM subscriptions s
     WHERE s.consumer_id = $1 AND s.listing_id = $3 AND s.status = 'active' AND s.current_period_end > now()
       AND q.id = s.id AND q.used < q.calls AND NOT EXISTS (SELECT FROM open)
     RETURNING q.id, q.unit
   ), trial AS (
     INSERT INTO call_quotas AS q (id, buyer_id, listing_id, is_trial, calls, used)
     SELECT $5::uuid, $1, $3, true, $6::int, 1
     WHERE $6 > 0 AND NOT EXISTS (SELECT FROM open) AND NOT EXISTS (SELECT FROM period)
       AND (EXISTS (SELECT FROM call_quotas t WHERE t.buyer_id = $1 AND t.listing_id = $3 AND t.is_trial) OR ${HAS_SPENT})
     ON CONFLICT (buyer_id, listing_id) WHERE is_trial
       DO UPDATE SET used = q.used + 1, calls = greatest(excluded.calls, q.used + 1) WHERE q.used < excluded.calls
     RETURNING q.id
   ), taken AS (
     INSERT INTO payments (id, relay_request_id, purpose, gateway_request_id, quota_id, offer_key, state, buyer_id, seller_id,
       listing_id, listing_name, listing_slug, preferred_currency, body_digest, rail, scheme, network, currency, decimals,
       pay_to, payee, gross_micros, fee_micros, net_micros, fee_bps, amount_base_units, expires_at, verified_at, retry_until,
       key_id, usage, quoted_micros)
     SELECT $7::uuid, $8, '${INCLUDED}', $9::uuid, quota.id, $10::bytea, 'verified', $1, $11::uuid, $3, $12, $13, $14, $4,
       '${INCLUDED}', '${INCLUDED}', '${INCLUDED}', 'USDC', 6, '', 'operator', 0, 0, 0, 0, 0, ${UNTIL}, now(), ${UNTIL}, $16::uuid,
       ${USAGE}, CASE WHEN unit IS NOT NULL THEN 0 END
     FROM (SELECT id, unit FROM period UNION ALL SELECT id, NULL FROM trial) quota
     RETURNING relay_request_id
   )
   SELECT relay_request_id FROM open UNION ALL SELECT relay_request_id FROM taken`,
);
const left = sql(
  'call-quotas.left',
  `SELECT (SELECT relay_request_id FROM payments
     WHERE buyer_id = $1 AND listing_id = $3 AND body_digest = $4 AND purpose = 'included' AND state = 'verified') AS open,
   (SELECT json_build_object('unit', q.unit, 'calls', q.calls, 'used', q.used, 'endsAt', s.current_period_end,
       'isUsedUp', ${IS_USED_UP})
     FROM subscriptions s JOIN call_quotas q ON q.id = s.id
     WHERE s.consumer_id = $1 AND s.listing_id = $3 AND s.status = 'active' AND s.current_period_end > now()) AS period,
   (SELECT q.used::int FROM call_quotas q WHERE q.buyer_id = $1 AND q.listing_id = $3 AND q.is_trial) AS tried,
   ${HAS_SPENT} AS "hasSpent"`,
);
interface Left {
  /** The same call, which a concurrent request has taken meanwhile. */
  open: string | null;
  period: (QuotaColumns & { endsAt: string; isUsedUp: boolean }) | null;
  tried: number | null;
  hasSpent: boolean;
}

/** Takes a call that costs nothing further: of the period of a subscription, or of a trial. */
@Injectable()
export class TakeIncludedCall {
  constructor(private readonly database: Database) {}

  /** One statement and one commit; if none is left, a look-up more. */
  @HandleRequest(takeIncludedCall)
  async execute(input: Input, context: RequestContext): Promise<Output> {
    const { accountId, keyId } = principalOf(context);
    const { listing, freeCalls, bodyDigest } = input;
    const minimum = minimumSpentMicros(input);
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    const values = [
      accountId,
      minimum,
      listing.listingId,
      Buffer.from(bodyDigest, 'hex'),
      newId(),
      freeCalls,
      newId(),
      relayRequestId,
      input.gatewayRequestId,
      // It is never offered again, so its key only has to be unique.
      createHash('sha256').update(`included|${relayRequestId}`).digest(),
      listing.sellerId,
      listing.name,
      listing.slug,
      listing.preferredCurrency,
      input.callMs,
      keyId,
    ];
    try {
      const [taken] = await this.database.query<{ relay_request_id: string }>(take, values);
      if (taken) return { outcome: 'taken', relayRequestId: taken.relay_request_id };
    } catch (error) {
      // A concurrent request has taken the same call, which is found now.
      if (isUniqueViolation(error, 'payments_open_included_call')) return this.execute(input, context);
      throw error;
    }
    const [row] = await this.database.query<Left>(left, values.slice(0, 4));
    const { open, period, tried, hasSpent } = row!;
    if (open !== null) return { outcome: 'taken', relayRequestId: open };
    const { calls, units } = quotaOf(period, period && new Date(period.endsAt));
    const trial = toQuota({ calls: Math.max(freeCalls, tried ?? 0), used: tried ?? 0 }, null);
    return {
      outcome: 'none',
      mayBeGivenBack: period?.isUsedUp === false,
      included: {
        period: calls,
        units,
        trial:
          freeCalls === 0 ? null : { ...trial, open: tried !== null || hasSpent, minimum_spent: usdNumber(minimum) },
      },
    };
  }
}

/** What somebody would pay for one call, or a little more. */
function minimumSpentMicros({ priceMicros, includedCalls }: Input): bigint {
  const price = BigInt(priceMicros) / BigInt(includedCalls ?? 1);
  return price > MINIMUM_SPENT_MICROS ? price : MINIMUM_SPENT_MICROS;
}
