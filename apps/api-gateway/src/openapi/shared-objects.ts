import { invariant } from '@market/kernel';
import { mapped, type Components, type Parts } from './components.js';
import type { JsonSchema } from './json-schema.js';
import { lastNamesIn } from './last-names.js';

/**
 * Objects that several answers contain. The keys are the last names that lead to an object's first property, from the
 * operation on.
 */
const OBJECTS: Record<string, string> = {
  'quality.live': 'ListingQuality',
  'rating.average': 'Rating',
  'category.id': 'CategoryRef',
  'listing.id': 'ListingRef',
  'listSubscriptions.data.listing.id': 'SubscribedListing',
  'getSubscription.data.listing.id': 'ConnectedListing',
  'provider.id': 'Provider',
  'listing.provider.id': 'Party',
  'buyer.id': 'Party',
  'listGatewayRequests.data.seller.id': 'Party',
  'getGatewayRequest.data.seller.id': 'Party',
  'payer.id': 'ReceiptParty',
  'getReceipt.data.seller.id': 'ReceiptParty',
  'gateway_limits.max_request_bytes': 'CallLimits',
  'limits.max_request_bytes': 'CallLimits',
  'listings.items.id': 'ListingSummary',
  'search.match': 'SearchNote',
  'note.match': 'SearchNote',
  'budget.per_call_usd': 'Budget',
  'spending.day': 'Spending',
  'day.from': 'SpentInPeriod',
  'month.from': 'SpentInPeriod',
  'getApiKey.data.id': 'ApiKey',
  'updateApiKey.data.id': 'ApiKey',
  'keys.id': 'ApiKey',
  'wallets.id': 'WalletSummary',
  'fees.gross_amount': 'Fees',
  'fees.fee_rate': 'CallFees',
  'charged_amount.amount_cents': 'ChargedAmount',
  'payment.provider': 'CallPayment',
  'attempts.started_at': 'CallAttempt',
  'paid.asset': 'PaidAsset',
  'requirements.depositAddress': 'PaymentRequirements',
  'data.payment.relay_request_id': 'KeylessOffer',
  'x402.x402Version': 'X402PaymentRequired',
  'executeKeylessCall.data.payment.x402.x402Version': 'KeylessPaymentRequired',
  'showPrice.data.payment.x402.x402Version': 'KeylessPaymentRequired',
  'payFees.data.x402.x402Version': 'KeylessPaymentRequired',
  'resource.url': 'PaidResource',
  'items.resource': 'DiscoveryResource',
  'resources.resource': 'DiscoveryResource',
  'discovery.resource': 'DiscoveryResource',
  'recovery.next_action': 'PendingRecovery',
  'subscribe.data.status': 'SubscriptionPending',
  'createPayment.data.status': 'SubscriptionPending',
  'verifyPayment.data.status': 'SubscriptionPending',
  'verifyPayment.data.subscription.id': 'Subscription',
  'calls.calls': 'CallQuota',
  'period.calls': 'CallQuota',
  'opening_balance.micros': 'UsdBalance',
  'closing_balance.micros': 'UsdBalance',
  micros: 'UsdAmount',
  'searchAll.data.accounts.id': 'OperatorsAccount',
  'searchAll.data.listings.id': 'OperatorsListing',
  'searchAll.data.payments.id': 'OperatorsPayment',
  'searchAll.data.calls.id': 'OperatorsCall',
};

/** Components that have all properties of another one, by name. */
const BASES: Record<string, string> = {
  Wallet: 'WalletSummary',
  Listing: 'ListingSummary',
  UpdateListingAnswer: 'Listing',
  GatewayRequestDetail: 'GatewayRequest',
  Receipt: 'ReceiptSummary',
  ConnectedListing: 'SubscribedListing',
  SubscriptionSummary: 'Subscription',
  SubscriptionDetail: 'Subscription',
  InspectedAccount: 'OperatorsAccount',
  InspectedListing: 'OperatorsListing',
  InspectedPayment: 'OperatorsPayment',
  InspectedCall: 'OperatorsCall',
};

/** Returns the schema with references in place of the `OBJECTS` in it. @param names that lead to it. */
export function shareObjects<S>(schema: S, names: string[], schemas: Components): S {
  if (Array.isArray(schema)) return schema.map((item: unknown) => shareObjects(item, names, schemas)) as S;
  if (typeof schema !== 'object' || schema === null) return schema;
  const { description, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]: [string, unknown]) => [
      key,
      key === 'properties'
        ? mapped(value as Parts, (part, name) => shareObjects(part, [...names, name], schemas))
        : shareObjects(value, names, schemas),
    ]),
  );
  const [first] = Object.keys((rest.properties ?? {}) as object);
  const key = first && lastNamesIn(OBJECTS, [...names, first]);
  const shared = key ? schemas.referTo(OBJECTS[key]!, rest) : rest;
  return { ...shared, ...(description !== undefined && { description }) } as S;
}

/** Returns the components with references to their bases in place of what they have of them. */
export const extendBases = (parts: Parts): Parts =>
  mapped(parts, (part, name) => {
    const base = BASES[name];
    if (base === undefined) return part;
    const [all, inherited] = [propertiesOf(part), propertiesOf(parts[base]!)];
    const names = Object.keys(inherited);
    invariant(
      names.every((each) => JSON.stringify(inherited[each]) === JSON.stringify(all[each])),
      `${name} has all properties of ${base}`,
    );
    const own = (each: string): boolean => !names.includes(each);
    const properties = Object.fromEntries(Object.entries(all).filter(([each]) => own(each)));
    const required = (part.required as string[]).filter(own);
    return {
      allOf: [
        { $ref: `#/components/schemas/${base}` },
        { type: 'object', ...(required.length > 0 && { required }), properties },
      ],
    };
  });

const propertiesOf = ({ properties }: JsonSchema): Parts => properties as Parts;
