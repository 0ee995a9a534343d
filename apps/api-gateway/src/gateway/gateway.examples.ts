import type { z } from 'zod';
import type { OutputOf } from '@market/contracts';
import type { listGatewayRequests } from '@market/contracts/gateway';
import type { askedPayment, KeylessOffer, PaymentOffer } from '@market/contracts/payments-ledger';
import { listingExample } from '../listings/listings.examples.js';
import { bazaarOf, callUrl, serviceNameOf } from '../x402/bazaar-resource.js';
import { paymentRequiredOf } from './x402.js';
import {
  BUYER_ID,
  GATEWAY_REQUEST_ID,
  LATER,
  LISTING_REF,
  PAYMENT_ID,
  RELAY_REQUEST_ID,
  SELLER_ID,
  TRANSACTION_HASH,
} from '../openapi/example-values.js';

const DIGEST = '7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a';

export const offerExample: PaymentOffer = {
  payment_id: PAYMENT_ID,
  relay_request_id: RELAY_REQUEST_ID,
  status: 'pending',
  provider: 'sandbox',
  requirements: {
    depositAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
    amount: '0.02',
    amount_base_units: '20000',
    currency: 'USDC',
    network: 'eip155:84532',
    relayRequestId: RELAY_REQUEST_ID,
    expiresAt: LATER,
  },
  fees: { gross_amount: 0.02, fee_rate: 0.05, fee_amount: 0.001, provider_receives: 0.019 },
  retry_headers: {
    'X-Market-Relay-Request-Id': RELAY_REQUEST_ID,
    'X-Market-Payment-Scheme': 'deposit',
    'X-Market-Payment-Network': 'eip155:84532',
  },
  x402: [
    {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '20000',
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      payTo: '0x52908400098527886E0F7030069857D2E4169EE7',
      maxTimeoutSeconds: 600,
      extra: { name: 'USDC', version: '2', relayRequestId: RELAY_REQUEST_ID },
    },
  ],
};

/** An offer as a 402 of a call shows it. */
export const askedExample: z.output<typeof askedPayment> = {
  ...offerExample,
  other_routes: [
    {
      provider: 'sandbox',
      currency: 'SOL',
      network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
      schemes: ['deposit'],
      headers: {
        'X-Market-Origin-Currency': 'SOL',
        'X-Market-Origin-Chain-Id': 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
      },
    },
  ],
};

export const x402Example = paymentRequiredOf(offerExample.x402, {
  url: `https://market.example/api/v1/gateway/${LISTING_REF.slug}`,
  description: 'One call of this listing',
});

const {
  payment_id: _paymentId,
  requirements: { depositAddress: _address, ...requirements },
  ...unstored
} = offerExample;

export const keylessOfferExample: KeylessOffer = {
  ...unstored,
  requirements,
  retry_headers: {},
  x402: { ...offerExample.x402[0]!, extra: { ...offerExample.x402[0]!.extra, offer: 'WyJ1V2hQ' } },
};

const keylessUrl = callUrl('https://market.example', LISTING_REF);

export const keylessExample = paymentRequiredOf(
  [keylessOfferExample.x402],
  {
    url: keylessUrl,
    description: `One call of ${LISTING_REF.name}`,
    ...serviceNameOf(LISTING_REF.name),
  },
  undefined,
  { bazaar: bazaarOf(listingExample) },
);

const money = {
  charged_amount: { amount_cents: 2, currency: 'USD' as const },
  fees: { fee_rate: 0.05, fee_amount_cents: 0.1, seller_receives_cents: 1.9 },
};

export const gatewayResultExample = {
  request_id: GATEWAY_REQUEST_ID,
  billable: true,
  ...money,
  seller_status_code: 200,
  seller_response: { hours: [{ at: '2026-11-21T15:00Z', celsius: 6.5 }] },
};

/** The gateway service's form of a call, with parties by id. */
export const gatewayRecordExample: OutputOf<typeof listGatewayRequests>['items'][number] = {
  id: GATEWAY_REQUEST_ID,
  request_id: GATEWAY_REQUEST_ID,
  listing: LISTING_REF,
  role: 'buyer',
  buyer_id: BUYER_ID,
  seller_id: SELLER_ID,
  status: 'succeeded',
  billable: true,
  ...money,
  usage: null,
  payment: {
    provider: 'sandbox',
    scheme: 'deposit',
    network: 'eip155:84532',
    relay_request_id: RELAY_REQUEST_ID,
    transaction_hash: TRANSACTION_HASH,
  },
  refund: null,
  seller_status_code: 200,
  latency_ms: 84,
  error_code: null,
  request_digest: DIGEST,
  response_digest: DIGEST,
  kind: 'json',
  content_type: null,
  size: null,
  progress: null,
  deadline: null,
  retry_after_seconds: null,
  created_at: LATER,
  completed_at: LATER,
};

const { buyer_id: _buyer, seller_id: _seller, ...record } = gatewayRecordExample;

export const gatewayRequestExample = {
  ...record,
  buyer: { id: BUYER_ID, display_name: 'Field Planner' },
  seller: { id: SELLER_ID, display_name: 'Nimbus' },
};

export const gatewayRequestDetailExample = {
  ...gatewayRequestExample,
  attempts: [{ started_at: LATER, seller_status_code: 200, latency_ms: 212, outcome: 'delivered' }],
};
