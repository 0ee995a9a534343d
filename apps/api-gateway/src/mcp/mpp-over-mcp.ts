import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import type { IncomingHttpHeaders } from 'node:http';
import { isMppClient, parseChallenge, problemOf } from '../gateway/mpp.js';
import type { ErrorBody } from '../http/error-body.js';
import type { InterfaceAnswer } from './callers-interface.js';

/** Keys of `_meta`. Sources: draft-payment-transport-mcp-00 of github.com/tempoxyz/mpp-specs, and of the last: mppx. */
export const CREDENTIAL = 'org.paymentauth/credential';
const RECEIPT = 'org.paymentauth/receipt';
const PAYMENT_REQUIRED = 'org.paymentauth/payment-required';

const CODES = { required: -32_042, rejected: -32_043, malformed: -32_602 };

/** Whether the client of a message says that it speaks the Machine Payments Protocol. */
export function speaksMpp(headers: IncomingHttpHeaders, meta: Record<string, unknown> = {}): boolean {
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY] as { experimental?: { payment?: unknown } } | undefined;
  return isMppClient(headers) || CREDENTIAL in meta || capabilities?.experimental?.payment !== undefined;
}

/** What the result of a tool says in that protocol beside what it says in x402. */
export function mppMetaOf(answer: InterfaceAnswer): Record<string, unknown> {
  const receipt = answer.headers['payment-receipt'];
  const required = requiredBy(answer);
  return {
    ...(typeof receipt === 'string' && {
      [RECEIPT]: JSON.parse(Buffer.from(receipt, 'base64url').toString()) as unknown,
    }),
    ...(required && { [PAYMENT_REQUIRED]: required }),
  };
}

/** What to pay, as the JSON-RPC error that only clients of that protocol understand. */
export function mppErrorOf(answer: InterfaceAnswer, isSigned: boolean) {
  const data = requiredBy(answer);
  if (!data) return undefined;
  const { type, title } = data.problem;
  const isMalformed = /malformed-credential|invalid-payload/.test(type);
  const code = isSigned ? (isMalformed ? CODES.malformed : CODES.rejected) : CODES.required;
  return { code, message: title, data };
}

function requiredBy({ status, headers, json }: InterfaceAnswer) {
  const challenge = headers['www-authenticate'];
  if (status !== 402 || typeof challenge !== 'string') return undefined;
  const { error } = json as ErrorBody;
  return { httpStatus: status, challenges: [parseChallenge(challenge)], problem: problemOf(error) };
}
