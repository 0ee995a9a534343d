import type { InputOf, OutputOf } from '@market/contracts';
import { sandboxOutcome, type createPayment, type paySandbox } from '@market/contracts/payments-ledger';
import type { PaymentRow } from '../payments/payment.js';

type X402Requirement = OutputOf<typeof createPayment>['x402']['accepts'][number];
type SandboxOutcome = InputOf<typeof paySandbox>['outcome'];

/** What clients of x402 v2 copy verbatim into `accepted`. The asset is the currency's name, as the sandbox has no contracts. */
export function toX402Requirement(row: PaymentRow): X402Requirement {
  return {
    scheme: row.scheme,
    network: row.network,
    amount: row.amount_base_units,
    asset: row.currency,
    payTo: row.pay_to,
    maxTimeoutSeconds: Math.max(1, Math.round((row.expires_at.getTime() - row.created_at.getTime()) / 1000)),
    extra: { relayRequestId: row.relay_request_id },
  };
}

export type ReadPayload = { outcome: SandboxOutcome } | { problem: string };

/**
 * A PaymentPayload of x402 v2 for this offer: `accepted` is its requirement, compared value by value as far as it says
 * whom, what and how much; what a client adds to it changes nothing. In the sandbox `payload` is
 * `{outcome?: "paid" | …}`, which plays the chain as POST /sandbox/payments/{relay_request_id}/pay does.
 */
export function readSandboxPayload(row: PaymentRow, payload: Record<string, unknown>): ReadPayload {
  const { x402Version, accepted, payload: inner } = payload;
  if (x402Version !== 2) return { problem: 'x402Version must be 2' };
  if (!isObject(accepted)) return { problem: 'accepted must be the requirement that is paid' };
  const { extra, maxTimeoutSeconds: _timeout, ...expected } = toX402Requirement(row);
  if (!isObject(accepted.extra) || !isSame(accepted.extra.relayRequestId, extra.relayRequestId)) return { problem: 'accepted.extra.relayRequestId must be that of this payment' };
  for (const [name, value] of Object.entries(expected)) {
    if (accepted[name] !== value) return { problem: `accepted.${name} must be ${value}` };
  }
  if (!isObject(inner)) return { problem: 'payload must be an object' };
  const outcome = sandboxOutcome.default('paid').safeParse(inner.outcome);
  return outcome.success ? { outcome: outcome.data } : { problem: `payload.outcome must be one of ${sandboxOutcome.options.join(', ')}` };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Hex digits mean the same in either case. */
export const isSame = (a: unknown, b: string): boolean => typeof a === 'string' && a.toLowerCase() === b.toLowerCase();
