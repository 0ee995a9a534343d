import type { executeCall } from '@market/contracts/gateway';
import type { OutputOf } from '@market/contracts';
import type { Transfer } from './money.js';

export type CallOutput = OutputOf<typeof executeCall>;
type PaymentRequired = Extract<CallOutput, { outcome: 'payment_required' }>;
type Pending = Extract<CallOutput, { outcome: 'pending' }>;

/** Why a payment cannot be used for its call. */
export type PaymentProblem = Pick<PaymentRequired, 'reason' | 'received' | 'missing' | 'rejection'>;

/** The payment can no longer be used; a new offer is needed. */
export interface PaymentUnusable {
  outcome: 'payment_unusable';
  problem: PaymentProblem;
}

export const answered = (dataJson: string, idempotencyReplayed: boolean, transfer?: Transfer): CallOutput => ({
  outcome: 'answered',
  dataJson,
  idempotencyReplayed,
  ...(transfer ? { transfer } : {}),
});

export const pending = (
  relayRequestId: string | undefined,
  retryAfterSeconds: number,
  reason: Pending['reason'],
): CallOutput => ({ outcome: 'pending', relayRequestId, retryAfterSeconds, reason });
