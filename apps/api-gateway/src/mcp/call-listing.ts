import type { CallToolResult } from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorBody } from '../http/error-body.js';
import type { CallersInterface, InterfaceAnswer } from './callers-interface.js';
import { resultOf, toolResult } from './tool-result.js';

/** Keys of `_meta`. Source of the first two: specs/transports-v2/mcp.md of github.com/coinbase/x402. */
const PAYMENT = 'x402/payment';
const PAYMENT_RESPONSE = 'x402/payment-response';
/** The maximum time to wait for a pending answer. */
const WAIT_MS = 20_000;

export interface WantedCall {
  listing: string;
  body: object;
  relay_request_id?: string;
  idempotency_key?: string;
  /** In the sandbox a call with a key is paid immediately, unless it costs more than this. */
  max_price_usd?: number;
}

export interface Caller {
  api: CallersInterface;
  /** Whether the request has an agent's key. */
  hasKey: boolean;
  sandbox: boolean;
}

/** Part of `data` of a 402. */
interface Payment {
  relay_request_id: string;
  fees: { gross_amount: number };
  x402: object | null;
}

/** Calls a listing through the HTTP routes: with a key by /gateway, without one by /x402. */
export async function callListing(
  { api, hasKey, sandbox }: Caller,
  wanted: WantedCall,
  meta: Record<string, unknown> = {},
): Promise<CallToolResult> {
  const body = JSON.stringify(wanted.body);
  const signed = meta[PAYMENT];
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
            'payment-signature': payment,
            'x-market-relay-request-id': relayRequestId,
            'idempotency-key': wanted.idempotency_key,
          },
        },
      );
      const waitMs = Number(answer.headers['retry-after']) * 1_000;
      if (answer.status !== 202 || Date.now() + waitMs > waitUntil) return answer;
      await delay(waitMs);
    }
  };
  const answer = await send();
  const offer = paymentOf(answer);
  const mayPay = sandbox && hasKey && payment === undefined;
  if (!offer || !mayPay || offer.fees.gross_amount > (wanted.max_price_usd ?? Infinity))
    return toResult(answer, hasKey);
  const paid = await api.send('POST', `/api/v1/sandbox/payments/${offer.relay_request_id}/pay`);
  return paid.status === 200 ? toResult(await send(offer.relay_request_id), hasKey) : resultOf(paid);
}

function paymentOf({ status, json }: InterfaceAnswer): Payment | undefined {
  return status === 402 ? (json as unknown as { data: { payment: Payment } }).data.payment : undefined;
}

function toResult(answer: InterfaceAnswer, hasKey: boolean): CallToolResult {
  const settlement = answer.headers['payment-response'];
  const _meta =
    typeof settlement === 'string'
      ? { [PAYMENT_RESPONSE]: JSON.parse(Buffer.from(settlement, 'base64').toString()) as unknown }
      : undefined;
  const payment = paymentOf(answer);
  if (payment) return { ...toolResult(asked(payment, answer.json as ErrorBody, hasKey), { isError: true }), _meta };
  const result = resultOf(answer);
  const isDelivered = answer.status === 200 && (result.structuredContent as { billable?: boolean }).billable !== false;
  return { ...result, ...(!isDelivered && { isError: true }), _meta };
}

/**
 * Returns what to pay. An x402 client reads the object as a `PaymentRequired` and ignores the other fields. These tell
 * a caller with a key the other ways to pay, and the relay request id for the next request.
 */
function asked({ x402, ...payment }: Payment, { error }: ErrorBody, hasKey: boolean): object {
  if (!hasKey) return x402!;
  return {
    ...x402,
    relay_request_id: payment.relay_request_id,
    payment,
    next: { message: error.message, recovery: error.recovery },
  };
}
