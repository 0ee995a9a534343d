import type { RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { digestOfBody } from './call-body.js';
import type { Answer } from './call-output.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { CallTargets, type CallInput, type CallTarget } from './call-target.js';

/** The results of the checks of a request before its payment is read. */
export interface ValidatedCall extends CallTarget {
  input: CallInput;
  digest: Buffer;
  fingerprint: Buffer;
  /** The payment of the call, if the request names one or its Idempotency-Key belongs to a call with a payment. */
  relayRequestId: string | undefined;
  /** The call that the Idempotency-Key belongs to. */
  idempotentCallId: string | null;
  /** Whether that call has a result. */
  isReplay: boolean;
  /** That result, if it is final. */
  storedAnswer: Answer | null;
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

  /** @throws Refusal for a body, a listing or a key with which no call can be made. */
  async execute(input: CallInput, context: RequestContext): Promise<ValidatedCall> {
    const target = await this.targets.find(input, context);
    const digest = digestOfBody(input);
    const fingerprint = this.keys.fingerprint(target.listingId, digest, input);
    const idempotentCallId = await this.keys.find(context, fingerprint);
    const { result, openJob } =
      idempotentCallId === null ? { result: null, openJob: null } : await this.records.findEarlier(idempotentCallId);
    return {
      ...target,
      input,
      digest,
      fingerprint,
      // If the stored result is not final, the request continues with the payment of that result, unless it brings a
      // signature, which may pay for the result if that payment came to nothing.
      relayRequestId:
        input.authorization === undefined
          ? ((result ?? openJob)?.relayRequestId ?? input.relayRequestId)
          : input.relayRequestId,
      idempotentCallId,
      isReplay: result !== null,
      storedAnswer: result?.isFinal ? result : null,
    };
  }
}
