import { RELAY_REQUEST_ID_PATTERN } from '@market/contracts';
import type { IncomingHttpHeaders } from 'node:http';
import { requestInvalid } from '../http/edge-refusals.js';
import { decodePayload } from '../payments/payment-payload.js';
import { paymentIdentifierOf } from './payment-identifier.js';

/** The parts of an x402 payment that the edge reads, mainly which offer it pays. The ledger verifies the payment. */
export interface PaymentSignature {
  relayRequestId: string;
  /** The decoded payload as JSON text. */
  authorization: string;
  /** The network that the payload names, if it is short text; it is not verified here. */
  network?: string;
  /** The wallet that the payload names as the payer; it is not verified here. */
  payer?: string;
  /** The client's name for the purchase, if it gave one. */
  paymentIdentifier?: string;
}

export const PAYMENT_SIGNATURE = 'PAYMENT-SIGNATURE';
const MAX_ADDRESS_LENGTH = 64;

/**
 * Reads `PAYMENT-SIGNATURE` of x402 version 2: base64 of a PaymentPayload whose `accepted` is one of the requirements
 * of the 402 and names its offer in `extra.relayRequestId`. Source: specs/transports-v2/http.md of
 * github.com/coinbase/x402.
 * @throws Refusal if it is invalid, or names another offer than X-Market-Relay-Request-Id does.
 */
export function readPaymentSignature(
  headers: IncomingHttpHeaders,
  relayRequestId?: string,
): PaymentSignature | undefined {
  const given = headers['payment-signature'];
  if (given === undefined && headers['x-payment'] !== undefined)
    throw requestInvalid([
      {
        field: 'X-PAYMENT',
        message:
          'is of x402 version 1, and nothing was charged: this is version 2, sign what PAYMENT-REQUIRED asks for and send it ' +
          'as PAYMENT-SIGNATURE',
      },
    ]);
  if (given === undefined) return undefined;
  const decoded = typeof given === 'string' ? decodePayload(given) : undefined;
  const named = decoded && offerOf(decoded.payload);
  if (decoded === undefined || named === undefined) {
    throw requestInvalid([
      {
        field: PAYMENT_SIGNATURE,
        message:
          'must be base64 of an x402 version 2 payload, nested at most 32 deep, whose accepted.extra.relayRequestId is that of the 402',
      },
    ]);
  }
  if (relayRequestId !== undefined && relayRequestId !== named)
    throw requestInvalid([
      { field: PAYMENT_SIGNATURE, message: 'pays another offer than X-Market-Relay-Request-Id names' },
    ]);
  const paymentIdentifier = paymentIdentifierOf(decoded.payload);
  if (paymentIdentifier === null)
    throw requestInvalid([
      {
        field: PAYMENT_SIGNATURE,
        message: 'names an extensions.payment-identifier.info.id that is not 16 to 128 letters, digits, - and _',
      },
    ]);
  return {
    relayRequestId: named,
    authorization: decoded.text,
    payer: payerOf(decoded.payload),
    network: networkOf(decoded.payload),
    ...(paymentIdentifier === undefined ? {} : { paymentIdentifier }),
  };
}

function payerOf(payload: Record<string, unknown>): string | undefined {
  type Signed = { from?: unknown } | null;
  const signed = payload.payload as { authorization?: Signed; permit2Authorization?: Signed } | null | undefined;
  const from = (signed?.authorization ?? signed?.permit2Authorization)?.from;
  return typeof from === 'string' && from.length <= MAX_ADDRESS_LENGTH ? from : undefined;
}

function networkOf(payload: Record<string, unknown>): string | undefined {
  const network = (payload.accepted as { network?: unknown } | null | undefined)?.network;
  return typeof network === 'string' && network.length <= MAX_ADDRESS_LENGTH ? network : undefined;
}

function offerOf(payload: Record<string, unknown>): string | undefined {
  const id = (payload.accepted as { extra?: { relayRequestId?: unknown } | null } | null | undefined)?.extra
    ?.relayRequestId;
  return typeof id === 'string' && RELAY_REQUEST_ID_PATTERN.test(id) ? id : undefined;
}
