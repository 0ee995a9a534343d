import type { ListingFields } from './listings.repository.js';

type Pricing = Pick<
  ListingFields,
  'pricing_model' | 'price_micros' | 'included_calls' | 'included_units' | 'free_calls' | 'usage'
>;

/** Whether a listing is called through the gateway, so that it has an endpoint. */
export const isCalled = ({
  pricing_model,
  included_calls,
  included_units,
}: Pick<Pricing, 'pricing_model' | 'included_calls' | 'included_units'>): boolean =>
  pricing_model === 'per_call' || included_calls !== null || included_units !== null;

/** SQL: the same of the listing `l`. */
export const IS_CALLED = `(l.pricing_model = 'per_call' OR l.included_calls IS NOT NULL OR l.included_units IS NOT NULL)`;

export const hasPeriods = (pricing_model: string): boolean => pricing_model === 'monthly' || pricing_model === 'yearly';

/** Why a price does not fit its pricing model; undefined if it does. */
export function pricingProblem(pricing: Pricing): string | undefined {
  const { pricing_model, price_micros, included_calls, included_units, free_calls, usage } = pricing;
  const isFree = price_micros === '0';
  if (pricing_model === 'free' && !isFree) return 'pricing_amount must be 0 on free listings';
  if (included_calls !== null && !hasPeriods(pricing_model))
    return 'included_calls must be null unless a listing is monthly or yearly';
  if (included_units !== null && pricing_model !== 'usage_tiered')
    return 'included_units must be null unless a listing is usage_tiered';
  if ((included_calls ?? included_units) !== null && isFree)
    return 'included_calls and included_units must be null where pricing_amount is 0';
  if (free_calls !== null && (isFree || !isCalled(pricing)))
    return 'free_calls must be null unless calls through the gateway cost something: per_call, or with included_calls or included_units';
  if (usage && pricing_model !== 'per_call') return 'usage must be null unless a listing is per_call';
  if (usage && isFree) return 'usage must be null where pricing_amount, the most that a call costs, is 0';
  return undefined;
}
