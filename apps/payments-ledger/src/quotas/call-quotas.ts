import { INCLUDED, type callQuota, type unitQuota } from '@market/contracts/payments-ledger';
import { sql } from '@market/persistence';
import type { z } from 'zod';

/** The columns of a quota, as JSON. */
export interface QuotaColumns {
  /** What is counted; null if it is calls. */
  unit: string | null;
  calls: number;
  used: number;
}

/** SQL: the quota of the subscription `s`; null if its period includes no calls. */
export const QUOTA = `(SELECT json_build_object('unit', q.unit, 'calls', q.calls, 'used', q.used) FROM call_quotas q WHERE q.id = s.id)`;

/** SQL: whether no call of the period of `s` is left, and none is under way that could be given back. */
export const IS_USED_UP = `EXISTS (SELECT FROM call_quotas q WHERE q.id = s.id AND q.used >= q.calls
  AND NOT EXISTS (SELECT FROM payments p WHERE p.quota_id = q.id AND p.state = 'verified'))`;

export const toQuota = (
  { calls, used }: Omit<QuotaColumns, 'unit'>,
  endsAt: Date | null,
): z.output<typeof callQuota> => ({
  calls,
  used,
  left: Math.max(0, calls - used),
  ends_at: endsAt?.toISOString() ?? null,
});

/** What a period includes, in calls or in units. */
export function quotaOf(
  quota: QuotaColumns | null,
  endsAt: Date | null,
): { calls: z.output<typeof callQuota> | null; units: z.output<typeof unitQuota> | null } {
  const counted = quota && toQuota(quota, endsAt);
  if (!counted || quota.unit === null) return { calls: counted, units: null };
  const { calls: units, ...rest } = counted;
  return { calls: null, units: { unit: quota.unit, units, ...rest } };
}

/** A trigger gives the call back. */
export const giveBack = sql(
  'payments.give-back',
  `UPDATE payments SET state = 'cancelled' WHERE id = $1 AND purpose = '${INCLUDED}' AND state = 'verified' RETURNING id`,
);
