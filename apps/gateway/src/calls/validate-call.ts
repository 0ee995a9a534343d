import { executeCall } from '@market/contracts/gateway';
import { refuse, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { bodyDigest } from '../canonical/body-digest.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { CallTargets, type CallInput, type CallTarget } from './call-target.js';

/** The results of the checks of a request before its payment is read. */
export interface ValidatedCall extends CallTarget {
  input: CallInput;
  digest: Buffer;
  fingerprint: Buffer;
  /** What pays it, where it was said or its Idempotency-Key is that of a call with a payment. */
  relayRequestId: string | undefined;
  /** The call that its Idempotency-Key belongs to. */
  idempotentCallId: string | null;
  /** That call has its result. */
  isReplay: boolean;
  /** That result, where it is known to be charged for. */
  storedAnswer: string | null;
}
export type PaidRequest = ValidatedCall & { relayRequestId: string };

export const isPaid = (call: ValidatedCall): call is PaidRequest => call.relayRequestId !== undefined;

@Injectable()
export class ValidateCall {
  constructor(
    private readonly targets: CallTargets,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
  ) {}

  /** @throws Refusal for a body, a listing or a key that no call can be made with. */
  async execute(input: CallInput, context: RequestContext): Promise<ValidatedCall> {
    const target = await this.targets.find(input, context);
    const digest = digestOfBody(input.body);
    const fingerprint = this.keys.fingerprint(target.listingId, digest, input);
    const idempotentCallId = await this.keys.find(context, fingerprint);
    const result = idempotentCallId === null ? null : await this.records.findResult(idempotentCallId);
    return {
      ...target,
      input,
      digest,
      fingerprint,
      // A result that is stored and not known to be charged is asked for as its own payment would be.
      relayRequestId: result?.relayRequestId ?? input.relayRequestId,
      idempotentCallId,
      isReplay: result !== null,
      storedAnswer: result?.isFinal ? result.answer : null,
    };
  }
}

/** @throws Refusal `request_body_invalid`. */
export function digestOfBody(body: string): Buffer {
  const result = bodyDigest(body);
  if ('problem' in result) throw refuse(executeCall, 'request_body_invalid', result);
  return result.digest;
}
