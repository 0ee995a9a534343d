import type { OutputOf } from '@market/contracts';
import type { executeCall } from '@market/contracts/gateway';
import type { PaymentOffer } from '@market/contracts/payments-ledger';

type Answered = Extract<OutputOf<typeof executeCall>, { outcome: 'answered' }>;

/** `PaymentRequired` of x402 version 2. Source: specs/x402-specification-v2.md of github.com/coinbase/x402. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: { url: string; description: string; mimeType: 'application/json' };
  accepts: NonNullable<PaymentOffer['x402']>[];
}

export const paymentRequiredOf = (requirements: NonNullable<PaymentOffer['x402']>, url: string, error = 'PAYMENT-SIGNATURE header is required'): PaymentRequired => ({
  x402Version: 2,
  error,
  resource: { url, description: 'One call of this listing', mimeType: 'application/json' },
  accepts: [requirements],
});

/** What a client is told of its settlement, in `PAYMENT-RESPONSE`. */
export const settledOf = (transfer: NonNullable<Answered['transfer']>): object => ({ success: true, ...transfer });
export const notSettledOf = (reason: string, network: string): object => ({ success: false, errorReason: reason, transaction: '', network });

export const headerOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
