import type { OutputOf } from '@market/contracts';
import type { BalanceView, payFees } from '@market/contracts/payments-ledger';
import { keylessOfferExample } from '../gateway/gateway.examples.js';
import { paymentRequiredOf } from '../gateway/x402.js';
import { LATER, PAYMENT_ID, TRANSACTION_HASH } from '../openapi/example-values.js';

const usd = (micros: number): BalanceView['earned'] => ({ micros: String(micros), usd: micros / 1_000_000 });

export const balanceExample: BalanceView = {
  currency: 'USD',
  earned: usd(1_330_000),
  received: [{ network: 'eip155:84532', wallet: '0x52908400098527886E0F7030069857D2E4169EE7', amount: usd(1_200_000) }],
  payable: usd(190_000),
  payouts: [],
  fees: { due: usd(60_000), paid: usd(0), limit: usd(10_000_000), status: 'good', pay_by: null },
  refunds: { due_to_account: usd(0), due_by_account: usd(0) },
};

export const feesRequiredExample = {
  due: usd(60_000),
  amount: usd(60_000),
  x402: paymentRequiredOf([{ ...keylessOfferExample.x402, amount: '60000' }], {
    url: 'https://market.example/api/v1/fees/payments',
    description: 'Fees of the marketplace',
  }),
};

export const feesPaidExample: Extract<OutputOf<typeof payFees>, { outcome: 'paid' }> = {
  outcome: 'paid',
  paymentId: PAYMENT_ID,
  amount: usd(60_000),
  due: usd(0),
  completedAt: LATER,
  transfer: {
    transaction: TRANSACTION_HASH,
    network: 'eip155:84532',
    payer: '0x52908400098527886e0f7030069857d2e4169ee7',
  },
};
