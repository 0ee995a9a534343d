import type { OutputOf } from '@market/contracts';
import type {
  getReceipt,
  getReceiptProof,
  listLedger,
  listReceipts,
  listSigningKeys,
} from '@market/contracts/payments-ledger';
import {
  BUYER_ID,
  GATEWAY_REQUEST_ID,
  KEY_ID,
  LATER,
  LISTING_REF,
  PAYMENT_ID,
  RECEIPT_ID,
  RELAY_REQUEST_ID,
  SELLER_ID,
  TRANSACTION_HASH,
} from '../openapi/example-values.js';

export const entryExample: OutputOf<typeof listLedger>['items'][number] = {
  id: KEY_ID,
  transaction_id: RECEIPT_ID,
  type: 'seller_credit',
  account: `agent:${SELLER_ID}:earnings:sandbox:eip155:84532`,
  direction: 'credit',
  amount_cents: 1.9,
  currency: 'USD',
  balance_after_cents: 133,
  listing: LISTING_REF,
  reference: { payment_id: PAYMENT_ID, gateway_request_id: GATEWAY_REQUEST_ID, receipt_id: RECEIPT_ID },
  transaction_hash: TRANSACTION_HASH,
  network: 'eip155:84532',
  wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
  usage: null,
  created_at: LATER,
};

export const receiptExample: OutputOf<typeof listReceipts>['items'][number] = {
  id: RECEIPT_ID,
  payment_id: PAYMENT_ID,
  recipient_type: 'buyer',
  gross_amount: 0.02,
  fee_rate: 0.05,
  fee_amount: 0.001,
  net_amount: 0.019,
  currency: 'USD',
  paid: { asset: 'USDC', amount: '0.02', amount_base_units: '20000' },
  transaction_hash: TRANSACTION_HASH,
  listing: LISTING_REF,
  created_at: LATER,
};

/** The ledger's form of a receipt, with parties by id. */
export const receiptRecordExample: OutputOf<typeof getReceipt> = {
  ...receiptExample,
  relay_request_id: RELAY_REQUEST_ID,
  payer_id: BUYER_ID,
  seller_id: SELLER_ID,
  refunds: [],
};

export const receiptDetailExample = {
  ...receiptExample,
  relay_request_id: RELAY_REQUEST_ID,
  payer: { id: BUYER_ID, display_name: 'Field Planner', avatar_url: null },
  seller: { id: SELLER_ID, display_name: 'Nimbus', avatar_url: null },
  refunds: [],
};

const DIGEST = '7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a';
const { id: _receipt, created_at: _written, ...proven } = receiptExample;

export const proofExample: OutputOf<typeof getReceiptProof> = {
  jws: 'eyJhbGciOiJFZERTQSIsInR5cCI6InJlY2VpcHQrand0In0.eyJpc3MiOiJodHRwczovL21hcmtldC5leGFtcGxlIn0.c2lnbmF0dXJl',
  claims: {
    iss: 'https://market.example',
    iat: 1_795_269_912,
    receipt_id: RECEIPT_ID,
    ...proven,
    buyer_id: BUYER_ID,
    seller_id: SELLER_ID,
    network: 'eip155:84532',
    relay_request_id: RELAY_REQUEST_ID,
    gateway_request_id: GATEWAY_REQUEST_ID,
    request_digest: DIGEST,
    response_digest: DIGEST,
    seller_status_code: 200,
  },
};

export const signingKeysExample: OutputOf<typeof listSigningKeys> = {
  keys: [
    {
      kty: 'OKP',
      crv: 'Ed25519',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
      use: 'sig',
      alg: 'EdDSA',
    },
  ],
};
