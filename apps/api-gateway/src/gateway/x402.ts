import type { OutputOf } from '@market/contracts';
import type { executeCall } from '@market/contracts/gateway';
import type { KeylessOffer, PaymentOffer } from '@market/contracts/payments-ledger';
import { signedReceipt } from './offer-receipt.js';
import { PAYMENT_IDENTIFIER } from './payment-identifier.js';

type Answered = Extract<OutputOf<typeof executeCall>, { outcome: 'answered' }>;
type Requirements = NonNullable<PaymentOffer['x402']> | KeylessOffer['x402'];

export interface PaidResource {
  url: string;
  description: string;
  serviceName?: string;
}

/** `PaymentRequired` of x402 version 2. Source: specs/x402-specification-v2.md of github.com/coinbase/x402. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: PaidResource & { mimeType: 'application/json' };
  accepts: Requirements[];
  extensions: Record<string, object>;
}

/** @param extensions extensions in addition to those of every call. */
export const paymentRequiredOf = (
  accepts: Requirements[],
  resource: PaidResource,
  error = 'PAYMENT-SIGNATURE header is required',
  extensions: Record<string, object> = {},
): PaymentRequired => ({
  x402Version: 2,
  error,
  resource: { ...resource, mimeType: 'application/json' },
  accepts,
  extensions: { ...PAYMENT_IDENTIFIER, ...extensions },
});

/** The settlement, as the header `PAYMENT-RESPONSE` reports it to the client. */
export const settledOf = ({ receipt, ...transfer }: NonNullable<Answered['transfer']>): object => ({
  success: true,
  ...transfer,
  ...(receipt === undefined ? {} : { extensions: signedReceipt(receipt) }),
});
export const notSettledOf = (reason: string, network: string): object => ({
  success: false,
  errorReason: reason,
  transaction: '',
  network,
});

export const headerOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
