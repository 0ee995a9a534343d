import type { CallToolResult } from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorBody } from '../http/error-body.js';
import { credentialHeader } from '../gateway/mpp.js';
import type { Caller } from './caller.js';
import type { InterfaceAnswer } from './callers-interface.js';
import { withFile } from './file-content.js';
import { CREDENTIAL, mppErrorOf, mppMetaOf } from './mpp-over-mcp.js';
import { asTask } from './tasks.js';
import { resultOf, toolResult } from './tool-result.js';
import { WAIT_MS, workingOf, type Tell } from './working.js';

/** Keys of `_meta`. Source of the first two: specs/transports-v2/mcp.md of github.com/coinbase/x402. */
const PAYMENT = 'x402/payment';
const PAYMENT_RESPONSE = 'x402/payment-response';

export interface WantedCall {
  listing: string;
  body?: object;
  /** Sent instead of `body`. */
  file?: { content_type: string; base64: string };
  relay_request_id?: string;
  idempotency_key?: string;
  /** A call with a key that sandbox money can pay is paid immediately, unless it costs more than this. */
  max_price_usd?: number;
}

/** What the client of a tool gets while it waits, and takes when it has waited. */
export interface Waiting {
  meta?: Record<string, unknown> | undefined;
  tell: Tell;
  /** A job is answered with a task, at once. */
  takesTasks: boolean;
}

/** Part of `data` of a 402. */
interface Payment {
  relay_request_id: string;
  /** The rail that takes the payment. */
  provider: string;
  fees: { gross_amount: number };
  x402: object | null;
}

/** Calls a listing through the HTTP routes: with a key by /gateway, without one by /x402. */
export async function callListing(
  caller: Caller,
  wanted: WantedCall,
  { meta = {}, tell, takesTasks }: Waiting,
): Promise<CallToolResult> {
  const { api, hasKey, publicUrl } = caller;
  const { file } = wanted;
  const body = file ? Buffer.from(file.base64, 'base64') : JSON.stringify(wanted.body ?? {});
  const { [PAYMENT]: signed, [CREDENTIAL]: credential } = meta;
  const payment = signed === undefined ? undefined : Buffer.from(JSON.stringify(signed)).toString('base64');
  const waitUntil = Date.now() + WAIT_MS;
  const send = async (relayRequestId = wanted.relay_request_id): Promise<InterfaceAnswer> => {
    for (;;) {
      const answer = await api.send(
        'POST',
        `/api/v1/${hasKey ? 'gateway' : 'x402'}/${encodeURIComponent(wanted.listing)}`,
        {
          body,
          headers: {
            ...(file && { 'content-type': file.content_type }),
            'payment-signature': payment,
            'x-market-relay-request-id': relayRequestId,
            'idempotency-key': wanted.idempotency_key,
            ...(credential === undefined ? {} : credentialHeader(credential, api.request.headers)),
          },
        },
      );
      const working = workingOf(answer);
      if (working) await tell(working);
      const waitMs = Number(answer.headers['retry-after']) * 1_000;
      if (answer.status !== 202 || (working && takesTasks) || Date.now() + waitMs > waitUntil) return answer;
      await delay(waitMs);
    }
  };
  const answer = await send();
  const offer = paymentOf(answer);
  const isSigned = payment !== undefined || credential !== undefined;
  const mayPay = offer?.provider === 'sandbox' && hasKey && !isSigned;
  if (!mayPay) caller.mppError = mppErrorOf(answer, credential !== undefined);
  const { relay_request_id: relayRequestId, max_price_usd: maxPrice = Infinity } = wanted;
  const shown = (given: InterfaceAnswer, paidBy?: string): CallToolResult | Promise<CallToolResult> => {
    const result = toResult(given, { hasKey, publicUrl, relayRequestId: paidBy });
    return takesTasks && hasKey ? asTask(caller, given, result) : result;
  };
  if (!offer || !mayPay) return shown(answer, relayRequestId);
  const price = offer.fees.gross_amount;
  if (price > maxPrice) {
    const tooDear =
      `This call costs $${price}, more than max_price_usd, $${maxPrice}: nothing was paid, and the seller was not ` +
      `called. To buy it, call again with a max_price_usd of at least ${price}`;
    return toResult(answer, { hasKey, publicUrl, message: tooDear });
  }
  const paid = await api.send('POST', `/api/v1/sandbox/payments/${offer.relay_request_id}/pay`);
  if (paid.status !== 200) return resultOf(paid);
  return shown(await send(offer.relay_request_id), offer.relay_request_id);
}

interface Shown extends Pick<Caller, 'hasKey' | 'publicUrl'> {
  /** The payment of the call, which a call that was not delivered is repeated with. */
  relayRequestId?: string;
  /** Replaces the message of a 402. */
  message?: string;
}

function paymentOf({ status, json }: InterfaceAnswer): Payment | undefined {
  return status === 402 ? (json as unknown as { data?: { payment: Payment } }).data?.payment : undefined;
}

function toResult(answer: InterfaceAnswer, { hasKey, publicUrl, relayRequestId, message }: Shown): CallToolResult {
  const { 'payment-response': settlement } = answer.headers;
  const said = {
    ...(typeof settlement === 'string' && {
      [PAYMENT_RESPONSE]: JSON.parse(Buffer.from(settlement, 'base64').toString()) as unknown,
    }),
    ...mppMetaOf(answer),
  };
  const _meta = Object.keys(said).length > 0 ? said : undefined;
  const payment = paymentOf(answer);
  if (payment) {
    const { error } = answer.json as ErrorBody;
    const said = message === undefined ? error : { ...error, message };
    return { ...toolResult(asked(payment, said, hasKey), { isError: true }), _meta };
  }
  const result = resultOf(answer);
  const value = result.structuredContent as { billable?: boolean };
  if (answer.status === 200 && value.billable !== false) return { ...withFile(result, publicUrl), _meta };
  if (workingOf(answer)) return { ...result, _meta };
  const failed = relayRequestId === undefined ? value : { ...value, relay_request_id: relayRequestId };
  return { ...toolResult(failed, { isError: true }), _meta };
}

/**
 * Returns what to pay. An x402 client reads the object as a `PaymentRequired` and ignores the other fields. These tell
 * a caller with a key the other ways to pay, and the relay request id for the next request.
 */
function asked({ x402, ...payment }: Payment, error: ErrorBody['error'], hasKey: boolean): object {
  if (!hasKey) return x402!;
  return {
    ...x402,
    relay_request_id: payment.relay_request_id,
    payment,
    next: { message: error.message, recovery: error.recovery },
  };
}
