import type { InputOf } from '@market/contracts';
import { sandboxOutcome, type paySandbox } from '@market/contracts/payments-ledger';
import type { PaymentRow } from '../payments/payment.js';

type SandboxOutcome = InputOf<typeof paySandbox>['outcome'];

export type ReadPayload = { outcome: SandboxOutcome } | { problem: string };

/**
 * A PaymentPayload of x402 v2 for this offer, whose `accepted` says on which network how much goes to whom for which offer; what a
 * client adds to it changes nothing. x402 has no scheme for a transfer, so that offers do not ask for one. In the sandbox `payload` is
 * `{outcome?: "paid" | …}`, which plays the chain as POST /sandbox/payments/{relay_request_id}/pay does.
 */
export function readSandboxPayload(row: PaymentRow, payload: Record<string, unknown>): ReadPayload {
  const { x402Version, accepted, payload: inner } = payload;
  if (x402Version !== 2) return { problem: 'x402Version must be 2' };
  if (!isObject(accepted)) return { problem: 'accepted must be the requirement that is paid' };
  const expected = { network: row.network, amount: row.amount_base_units, payTo: row.pay_to };
  if (!isObject(accepted.extra) || !isSame(accepted.extra.relayRequestId, row.relay_request_id))
    return { problem: 'accepted.extra.relayRequestId must be that of this payment' };
  for (const [name, value] of Object.entries(expected)) {
    if (accepted[name] !== value) return { problem: `accepted.${name} must be ${value}` };
  }
  if (!isObject(inner)) return { problem: 'payload must be an object' };
  const outcome = sandboxOutcome.default('paid').safeParse(inner.outcome);
  return outcome.success
    ? { outcome: outcome.data }
    : { problem: `payload.outcome must be one of ${sandboxOutcome.options.join(', ')}` };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Hex digits mean the same in either case. */
export const isSame = (a: unknown, b: string): boolean => typeof a === 'string' && a.toLowerCase() === b.toLowerCase();
