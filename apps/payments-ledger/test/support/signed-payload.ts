import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { Offered } from './ledger-harness.js';

export type Signer = ConstructorParameters<typeof ExactEvmScheme>[0];

/** Returns the payload that the stock client sends for an offer, as JSON text. */
export async function signed(
  { offer }: Offered,
  account: Signer,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const accepted = { ...offer.x402!, ...changes };
  const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, accepted as never);
  return JSON.stringify({ x402Version: 2, accepted, payload, resource: { url: 'https://market.example/' } });
}

/** The same signature, submitted for another offer. */
export const movedTo = ({ offer }: Offered, payload: string): string =>
  JSON.stringify({ ...(JSON.parse(payload) as object), accepted: offer.x402 });
