import {
  BUYER,
  BUYER_ID,
  EARLIER,
  GATEWAY_REQUEST_ID,
  HUMAN_ID,
  KEY_ID,
  LATER,
  LISTING_ID,
  LISTING_REF,
  PAYMENT_ID,
  RELAY_REQUEST_ID,
  SELLER_ID,
  TRANSACTION_HASH,
  WALLET,
} from '../openapi/example-values.js';
import { gatewayRequestExample } from '../gateway/gateway.examples.js';

const { role: _role, buyer: _buyer, seller: _seller, ...call } = gatewayRequestExample;

export const accountExample = {
  id: BUYER_ID,
  display_name: BUYER.display_name,
  account_type: 'agent' as const,
  wallet_address: WALLET,
  is_suspended: false,
  created_at: EARLIER,
};
export const accountDetailExample = {
  ...accountExample,
  suspended_at: null,
  claimed_by: HUMAN_ID,
  wallets: [],
  keys: [],
};
export const listingSummaryExample = {
  ...LISTING_REF,
  status: 'active' as const,
  suspended_by: null,
  provider_id: SELLER_ID,
};
export const listingInspectedExample = {
  ...listingSummaryExample,
  slugs: [LISTING_REF.slug],
  held_as: null,
  version: 3,
  provider_name: 'Nimbus',
  description: 'Hourly forecasts.',
  tags: ['weather'],
  pricing_model: 'per_call' as const,
  price_micros: '20000',
  endpoint_status: 'active',
  failing_since: null,
  review_count: 2,
  purchases: 12,
  created_at: EARLIER,
  published_at: EARLIER,
  updated_at: LATER,
  reads_like: null,
};
export const paymentExample = {
  id: PAYMENT_ID,
  purpose: 'call' as const,
  state: 'completed',
  rail: 'x402',
  scheme: 'exact',
  network: 'eip155:8453',
  currency: 'USDC',
  gross_usd: '0.02',
  fee_usd: '0.001',
  buyer_id: BUYER_ID,
  seller_id: SELLER_ID,
  listing: LISTING_REF,
  gateway_request_id: GATEWAY_REQUEST_ID,
  relay_request_id: RELAY_REQUEST_ID,
  transaction_hash: TRANSACTION_HASH,
  created_at: EARLIER,
  completed_at: LATER,
};
export const paymentInspectedExample = {
  ...paymentExample,
  pay_to: WALLET,
  payee: 'seller',
  amount: '0.02',
  received_amount: '0.02',
  expires_at: LATER,
  retry_until: null,
  authorizations: [],
  entries: [],
};
export const callExample = { ...call, buyer_id: BUYER_ID, seller_id: SELLER_ID, payment_id: PAYMENT_ID };
export const callInspectedExample = {
  ...callExample,
  attempts: [{ started_at: LATER, seller_status_code: 200, latency_ms: 212, outcome: 'delivered' }],
};
export const overviewExample = {
  money: {
    days: [{ day: '2026-11-21', payments: 120, volume_usd: '2.4', revenue_usd: '0.12' }],
    refunds_due: { payments: 0, amount_usd: '0' },
    fees_due_usd: '0.12',
    payable_usd: '0',
    unexplained_usd: '0',
    rails: [{ id: 'x402', open: 1, overdue: 0, refunds_due: 0, settling: 1, oldest_settlement_seconds: 0.4 }],
  },
  calls: { days: [{ day: '2026-11-21', delivered: 120, failed: 1 }] },
  services: [
    {
      service: 'identity',
      queues: { unpublished: 0, oldest_unpublished_seconds: 0, parked: 0, dead_letters: 0 },
    },
  ],
};
export const suspendedAgentExample = {
  id: BUYER_ID,
  display_name: BUYER.display_name,
  is_suspended: true,
  changed: true,
};
export const heldListingExample = {
  id: LISTING_ID,
  name: LISTING_REF.name,
  status: 'suspended' as const,
  suspended_by: 'operator' as const,
  changed: true,
};
export const revokedKeyExample = { id: KEY_ID, revoked: true as const, changed: true };
export const auditExample = {
  id: KEY_ID,
  at: LATER,
  service: 'catalog',
  operator: HUMAN_ID,
  command: 'listing suspend',
  subject: LISTING_ID,
  reason: 'a copy of another',
};
