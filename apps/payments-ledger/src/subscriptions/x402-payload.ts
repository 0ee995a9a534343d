import type { InputOf } from '@market/contracts';
import { sandboxOutcome, type paySandbox } from '@market/contracts/payments-ledger';
import type { PaymentRow } from '../payments/payment.js';

type SandboxOutcome = InputOf<typeof paySandbox>['outcome'];

export type ReadPayload = { outcome: SandboxOutcome } | { problem: string };

/**
 * Reads an x402 v2 PaymentPayload for this offer. Its `accepted` names the network, the amount, the recipient and the
 * offer; additional fields are ignored. x402 has no scheme for transfers, so no offer requests one. In the sandbox
 * `payload` is `{outcome?: "paid" | …}`, which simulates a payment as POST /sandbox/payments/{relay_request_id}/pay
 * does.
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

/** Whether the payload contains a wallet's signature, as in the scheme `exact`. */
export const isSigned = ({ payload }: Record<string, unknown>): boolean => isObject(payload) && 'signature' in payload;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Compares texts without regard to letter case, because their hexadecimal digits may have either case. */
export const isSame = (a: unknown, b: string): boolean => typeof a === 'string' && a.toLowerCase() === b.toLowerCase();
