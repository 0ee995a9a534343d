import type { executeCall } from '@market/contracts/gateway';
import type { OutputOf } from '@market/contracts';
import type { Result } from './call-records.js';
import type { Transfer } from './money.js';
import type { Streaming, Working } from './open-streams.js';

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

/** The part of a result that its buyer gets. */
export type Answer = Pick<Result, 'answer' | 'content'>;

export const answered = (
  { answer, content }: Answer,
  idempotencyReplayed: boolean,
  transfer?: Transfer,
): CallOutput => ({
  outcome: 'answered',
  dataJson: answer,
  ...(content ? { content } : {}),
  idempotencyReplayed,
  ...(transfer ? { transfer } : {}),
});

export const streaming = ({ stream, transfer }: Streaming): CallOutput => ({
  outcome: 'streaming',
  stream,
  ...(transfer ? { transfer } : {}),
});

export const working = ({ job, transfer }: Working): CallOutput => ({
  outcome: 'working',
  job,
  ...(transfer ? { transfer } : {}),
});

export const pending = (
  relayRequestId: string | undefined,
  retryAfterSeconds: number,
  reason: Pending['reason'],
): CallOutput => ({ outcome: 'pending', relayRequestId, retryAfterSeconds, reason });
