import type { OutputOf } from '@market/contracts';
import type { getListingCards } from '@market/contracts/catalog';
import type {
  createPayment,
  getPayment,
  listSubscriptions,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { x402Example } from '../gateway/gateway.examples.js';
import {
  BUYER_ID,
  KEY_ID,
  LATER,
  LISTING_ID,
  LISTING_REF,
  PAYMENT_ID,
  RELAY_REQUEST_ID,
  SELLER,
  SELLER_ID,
  TRANSACTION_HASH,
} from '../openapi/example-values.js';

export const SUBSCRIPTION_ID = KEY_ID;
const PERIOD_END = '2026-12-21T14:05:12.345Z';
const DEPOSIT_ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';

export const subscriptionExample: Extract<OutputOf<typeof subscribe>, { outcome: 'subscribed' }>['subscription'] = {
  id: SUBSCRIPTION_ID,
  consumer_id: BUYER_ID,
  listing_id: LISTING_ID,
  status: 'active',
  pricing_model: 'monthly',
  pricing_amount: 9.99,
  current_period_end: PERIOD_END,
  calls: { calls: 1_000, used: 12, left: 988, ends_at: PERIOD_END },
  units: null,
  created_at: LATER,
};

/** The ledger's form of a subscription: the listing as it was sold, the seller by id. */
export const subscriptionRecordExample: OutputOf<typeof listSubscriptions>['items'][number] = {
  ...subscriptionExample,
  listing: LISTING_REF,
  seller_id: SELLER_ID,
};

export const listingCardExample: OutputOf<typeof getListingCards>['listings'][number] = {
  ...LISTING_REF,
  delivery_type: 'api',
  provider_id: SELLER_ID,
  connection_instructions: 'Send your subscription id in the header X-Subscription.',
  auth_method: 'api_key',
  demo_endpoint: null,
};

const listing = {
  ...LISTING_REF,
  delivery_type: 'api',
  provider: { id: SELLER_ID, display_name: SELLER.display_name },
};
const { connection_instructions, auth_method, demo_endpoint } = listingCardExample;

export const listedSubscriptionExample = { ...subscriptionExample, listing };
export const subscriptionDetailExample = {
  ...subscriptionExample,
  listing: { ...listing, connection_instructions, auth_method, demo_endpoint },
};

export const subscriptionOfferExample: OutputOf<typeof createPayment> = {
  payment_id: PAYMENT_ID,
  status: 'pending',
  requirements: {
    depositAddress: DEPOSIT_ADDRESS,
    amount: '9.99',
    amount_base_units: '9990000',
    currency: 'USDC',
    network: 'eip155:84532',
    relayRequestId: RELAY_REQUEST_ID,
    expiresAt: LATER,
  },
  fees: { gross_amount: 9.99, fee_rate: 0.05, fee_amount: 0.4995, provider_receives: 9.4905 },
  provider: 'sandbox',
  included_calls: 1_000,
  included_units: null,
  x402: [],
};

export const publicOfferExample = { ...subscriptionOfferExample, x402: x402Example };

const { payment_id, requirements, fees } = subscriptionOfferExample;

export const verifiedExample: Extract<OutputOf<typeof verifyPayment>, { outcome: 'completed' }> = {
  outcome: 'completed',
  subscription: subscriptionExample,
  payment: {
    payment_id,
    requirements,
    fees,
    status: 'completed',
    transaction_hash: TRANSACTION_HASH,
    completed_at: LATER,
  },
  provider: 'sandbox',
  transfer: null,
};

export const paymentExample: OutputOf<typeof getPayment> = {
  payment_id,
  status: 'refund_due',
  purpose: 'subscription',
  transaction_hash: TRANSACTION_HASH,
  requirements,
  fees,
  listing: LISTING_REF,
  received_amount: '9.99',
  refund_due_amount: 9.99,
  created_at: LATER,
  completed_at: null,
};
