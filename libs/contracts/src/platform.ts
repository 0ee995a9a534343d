import { z } from 'zod';
import { declareRefusal } from './define.js';

/** The refusals that any request may return. */
export const platformRefusals = {
  dependency_unavailable: declareRefusal(
    'unavailable',
    'A part of the marketplace cannot be reached at the moment; try again shortly',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_after_delay' },
  ),
  answer_lost: declareRefusal(
    'unavailable',
    'A part of the marketplace stopped while it processed this request, which may have taken effect; repeat the request',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_same_request', keep: ['Idempotency-Key'] },
  ),
  concurrent_changes: declareRefusal(
    'conflict',
    'Concurrent changes of the same thing stopped each other; nothing was changed by this request: repeat it',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_same_request', keep: ['Idempotency-Key'] },
  ),
  deadline_exceeded: declareRefusal(
    'unavailable',
    'The request took longer than it may; try again shortly',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_after_delay' },
  ),
  idempotency_key_reused: declareRefusal(
    'conflict',
    'This Idempotency-Key was used with another request',
    z.object({}),
    { nextAction: 'use_new_idempotency_key', useNewIdempotencyKey: true },
  ),
  idempotency_in_progress: declareRefusal(
    'conflict',
    'A request with this Idempotency-Key is still running',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_same_request', keep: ['Idempotency-Key'] },
  ),
};

export type PlatformReason = keyof typeof platformRefusals;
