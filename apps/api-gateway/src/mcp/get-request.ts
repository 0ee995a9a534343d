import type { OutputOf } from '@market/contracts';
import { isStreamType, type listGatewayRequests } from '@market/contracts/gateway';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import { MAX_BASE64_BYTES } from '../gateway/answer-files.js';
import { contentUrlOf } from '../gateway/send-answer.js';
import type { Caller } from './caller.js';
import type { CallersInterface, InterfaceAnswer } from './callers-interface.js';
import { withFile } from './file-content.js';
import { resultOf, toolResult } from './tool-result.js';
import { WAIT_MS, type Tell, type Working } from './working.js';

/** What has been delivered is shown once it is charged, a moment later. */
const SETTLING_SECONDS = 1;

/** A call as `GET /gateway-requests/{id}` shows it. */
export type Row = Omit<OutputOf<typeof listGatewayRequests>['items'][number], 'buyer_id' | 'seller_id'>;

/** Asks for a call until its seller has done it, for as long as a tool waits. */
export async function getRequest(caller: Caller, requestId: string, tell: Tell): Promise<CallToolResult> {
  for (const until = Date.now() + WAIT_MS; ;) {
    const answer = await findRequest(caller.api, requestId);
    if (!answer.json.success) return resultOf(answer);
    const row = answer.json.data as Row;
    const working = jobOf(row);
    if (!working) return outcomeOf(caller, row);
    await tell(working);
    const waitMs = working.retry_after_seconds * 1_000;
    if (Date.now() + waitMs > until) return toolResult(working);
    await delay(waitMs);
  }
}

export const findRequest = (api: CallersInterface, requestId: string): Promise<InterfaceAnswer> =>
  api.send('GET', `/api/v1/gateway-requests/${encodeURIComponent(requestId)}`);

/** What a repetition of the call would be answered with while its seller works on it. */
export function jobOf({ request_id, kind, status, payment, progress, ...row }: Row): Working | undefined {
  if (kind !== 'job' || (status !== 'forwarding' && status !== 'settling')) return undefined;
  const { percent, message } = progress ?? { percent: null, message: null };
  return {
    request_id,
    relay_request_id: payment?.relay_request_id ?? null,
    status: 'working',
    ...(percent !== null && { percent }),
    ...(message !== null && { message }),
    retry_after_seconds: row.retry_after_seconds ?? SETTLING_SECONDS,
    deadline: row.deadline!,
  };
}

/** The gateway result of a call that has ended, or what is known of one that has not. */
export async function outcomeOf({ api, publicUrl }: Caller, row: Row): Promise<CallToolResult> {
  const { request_id, billable, charged_amount, fees, seller_status_code, status, error_code, refund } = row;
  const facts = { request_id, billable, charged_amount, fees, seller_status_code };
  if (billable !== true) {
    const failed = {
      ...facts,
      status,
      ...(error_code && { error: { reason: error_code } }),
      ...(refund && { refund }),
    };
    return toolResult(failed, { isError: billable === false });
  }
  const answer = await sellerResponseOf(api, row);
  return withFile(toolResult(answer === undefined ? facts : { ...facts, seller_response: answer }), publicUrl);
}

/** What the marketplace still has of an answer; of a small file also its bytes. */
async function sellerResponseOf(api: CallersInterface, { request_id, ...row }: Row): Promise<unknown> {
  const url = contentUrlOf(request_id);
  const { content_type: contentType, size, response_digest: sha256 } = row;
  const isLarge = contentType !== null && (isStreamType(contentType) || size! > MAX_BASE64_BYTES);
  const answer = isLarge ? undefined : await api.send('GET', url);
  if (answer && answer.status !== 200) return undefined;
  if (contentType === null) return JSON.parse(answer!.text);
  return {
    content_type: contentType,
    size,
    sha256,
    ...(answer && { base64: answer.bytes.toString('base64') }),
    ...(isStreamType(contentType) && { outcome: 'completed' }),
    content_url: url,
  };
}
