import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { Offered } from './ledger-harness.js';

export type Signer = ConstructorParameters<typeof ExactEvmScheme>[0];

/** What is signed of an offer: the first of its requirements, or the only one of a keyless offer. */
export const askedIn = ({ offer }: { offer: { x402: unknown } }): object => [offer.x402].flat()[0] as object;

/** Returns the payload that the stock client sends for an offer, as JSON text. */
export async function signed(
  offered: Pick<Offered, 'offer'>,
  account: Signer,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const accepted = { ...askedIn(offered), ...changes };
  const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, accepted as never);
  return JSON.stringify({ x402Version: 2, accepted, payload, resource: { url: 'https://market.example/' } });
}

/** The same signature, submitted for another offer. */
export const movedTo = (offered: Pick<Offered, 'offer'>, payload: string): string =>
  JSON.stringify({ ...(JSON.parse(payload) as object), accepted: askedIn(offered) });
