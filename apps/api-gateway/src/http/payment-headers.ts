import type { IncomingHttpHeaders } from 'node:http';

/** Whether an Authorization is a payment of the Machine Payments Protocol instead of a key. */
export const isPayment = (authorization: string | undefined): boolean =>
  authorization !== undefined && /^payment( |$)/i.test(authorization);

/** Whether a request carries a signed payment, of x402 or of the Machine Payments Protocol. */
export const carriesSignature = (headers: IncomingHttpHeaders): boolean =>
  headers['payment-signature'] !== undefined ||
  headers['payment-authorization'] !== undefined ||
  isPayment(headers.authorization);
