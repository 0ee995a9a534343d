import { keccak_256 } from '@noble/hashes/sha3';
import type { KeylessOffer, PaymentOffer } from '@market/contracts/payments-ledger';
import type { IncomingHttpHeaders } from 'node:http';
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ErrorBody } from '../http/error-body.js';
import { isPayment } from '../http/payment-headers.js';
import { decodePayload } from '../payments/payment-payload.js';
import { readPaymentSignature, type PaymentSignature } from './payment-signature.js';

/**
 * The Machine Payments Protocol, method `evm`, intent `charge`, with the credential type `authorization`: the EIP-3009
 * signature that x402 `exact` asks for. A challenge asks for one of the `accepts` of x402, and a credential is read as
 * the x402 payment of it. Sources: draft-httpauth-payment-01 and draft-evm-charge-01 of github.com/tempoxyz/mpp-specs.
 */

/** The field of a credential whose request has its key in Authorization. */
export const PAYMENT_AUTHORIZATION = 'Payment-Authorization';
const EVM = 'eip155:';
const RELAY_ID_BYTES = 32;
const BINDING_BYTES = 16;
const MAX_TEXT = 128;

/** What is echoed in a credential. By HTTP `request` is base64url of its JSON; in MCP it is that object itself. */
const challengeSchema = z.object({
  id: z.string().max(2_048),
  realm: z.string(),
  method: z.literal('evm'),
  intent: z.literal('charge'),
  request: z.union([z.string(), z.record(z.string(), z.unknown())]),
  expires: z.iso.datetime(),
  digest: z.string().optional(),
  opaque: z.string(),
  header: z.string().optional(),
});
const requestSchema = z.object({
  amount: z.string(),
  currency: z.string(),
  methodDetails: z.object({ chainId: z.number().int() }),
  recipient: z.string(),
});
/** What the terms of x402 have and a request of this protocol has not. */
const opaqueSchema = z.object({ maxTimeoutSeconds: z.string(), name: z.string(), version: z.string() });
const authorizationSchema = z.object({
  type: z.literal('authorization'),
  from: z.string().max(MAX_TEXT),
  to: z.string(),
  value: z.string(),
  validAfter: z.string(),
  validBefore: z.string(),
  nonce: z.string(),
  signature: z.string(),
});
const credentialSchema = z.object({ challenge: challengeSchema, payload: z.unknown() });

export type Challenge = z.output<typeof challengeSchema> & { request: string };
type Problem = 'malformed_credential' | 'invalid_challenge' | 'invalid_payload' | 'verification_failed';

/** What x402 asks to sign. */
export type Requirements = PaymentOffer['x402'][number] | KeylessOffer['x402'];

/** Which offer is paid: its relay request id, and the offer token if it is not stored. */
interface Named {
  relayRequestId: string;
  offer?: string;
}

/**
 * The challenge that asks for one of the accepts; undefined if that is not on an EVM chain. It is new each time, so that
 * the nonce of what is signed is new, too.
 * @param url any URL of this marketplace.
 * @param request shows in which header its credential can come, and has the body that it is good for.
 */
export function challengeOf(
  { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra }: Requirements,
  url: string,
  { headers, sentBody }: Pick<FastifyRequest, 'headers' | 'sentBody'>,
): Challenge | undefined {
  const { name, version, ...named } = extra;
  if (
    scheme !== 'exact' ||
    extra.assetTransferMethod !== undefined ||
    !network.startsWith(EVM) ||
    name === undefined ||
    version === undefined
  )
    return undefined;
  const isKeyInAuthorization = headers.authorization !== undefined && !isPayment(headers.authorization);
  const terms = {
    realm: realmOf(url),
    method: 'evm' as const,
    intent: 'charge' as const,
    request: requestOf({
      amount,
      currency: asset,
      methodDetails: { chainId: Number(network.slice(EVM.length)) },
      recipient: payTo,
    }),
    expires: new Date(Date.now() + maxTimeoutSeconds * 1_000).toISOString(),
    ...(sentBody && { digest: digestOf(sentBody) }),
    opaque: base64urlOf({ maxTimeoutSeconds: String(maxTimeoutSeconds), name, version }),
    ...(isKeyInAuthorization && { header: PAYMENT_AUTHORIZATION }),
  };
  return { id: idOf(terms, named), ...terms };
}

/** The challenge as a value of WWW-Authenticate. */
export const challengeHeader = (challenge: Challenge): string =>
  `Payment ${Object.entries(challenge)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;

/** Reads what `challengeHeader` wrote; `request` becomes the object that MCP has. */
export function parseChallenge(header: string): object {
  const params = Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  return { ...params, request: jsonOf(params.request as string) };
}

/** The header of a credential, which MCP carries as an object. */
export const credentialHeader = (credential: unknown, headers: IncomingHttpHeaders): Record<string, string> => ({
  [headers.authorization === undefined ? 'authorization' : PAYMENT_AUTHORIZATION.toLowerCase()]:
    `Payment ${base64urlOf(credential)}`,
});

/**
 * Reads the signed payment of a request, in the form of x402 or of this protocol.
 * @param url any URL of this marketplace.
 * @returns what it pays, or why a credential of this protocol is none; that is answered with a new challenge.
 * @throws Refusal if a payment of x402 is invalid, or names another offer than `relayRequestId`.
 */
export function readPayment(
  request: FastifyRequest,
  url: string,
  relayRequestId?: string,
): Partial<PaymentSignature> & { rejection?: { reason: Problem; at: 'verification' } } {
  const signed = readPaymentSignature(request.headers, relayRequestId);
  if (signed) return signed;
  const read = readCredential(request, realmOf(url));
  if (typeof read === 'string') return { rejection: { reason: read, at: 'verification' } };
  if (read === undefined) return {};
  if (relayRequestId !== undefined && relayRequestId !== read.signature.relayRequestId)
    return { rejection: { reason: 'invalid_challenge', at: 'verification' } };
  request.challengeId = read.challengeId;
  return read.signature;
}

/**
 * A challenge is not stored. Its terms are those of the offer that its id names, which the ledger knows or has
 * authenticated; that the others are the ones that were signed follows from the nonce.
 */
function readCredential(
  { headers, sentBody = '' }: FastifyRequest,
  realm: string,
): { challengeId: string; signature: PaymentSignature } | Problem | undefined {
  const field = isPayment(headers.authorization) ? undefined : PAYMENT_AUTHORIZATION;
  const given = field ? headers['payment-authorization'] : headers.authorization;
  if (given === undefined) return undefined;
  const [, token = ''] = /^payment +([\w-]+=*)$/i.exec(String(given)) ?? [];
  const decoded = decodePayload(token.replaceAll('-', '+').replaceAll('_', '/'));
  const credential = credentialSchema.safeParse(decoded?.payload).data;
  if (!credential) return 'malformed_credential';
  const { challenge } = credential;
  const asked = requestSchema.safeParse(jsonOf(challenge.request)).data;
  const opaque = opaqueSchema.safeParse(jsonOf(challenge.opaque)).data;
  if (!asked || !opaque) return 'malformed_credential';
  const named = namedBy(challenge.id);
  const isOurs =
    challenge.realm === realm &&
    challenge.header === field &&
    challenge.id === idOf({ ...challenge, request: requestOf(asked) }, named) &&
    (challenge.digest === undefined || challenge.digest === digestOf(sentBody));
  if (!isOurs) return 'invalid_challenge';
  const payload = authorizationSchema.safeParse(credential.payload).data;
  if (!payload) return 'invalid_payload';
  const { type: _type, signature, ...authorization } = payload;
  const isBound =
    authorization.nonce.toLowerCase() === nonceOf(challenge.id, realm) &&
    (Number(authorization.validBefore) - 1) * 1_000 <= Date.parse(challenge.expires);
  if (!isBound) return 'verification_failed';
  const { maxTimeoutSeconds, ...domain } = opaque;
  const network = `${EVM}${asked.methodDetails.chainId}`;
  const accepted = {
    scheme: 'exact',
    network,
    amount: asked.amount,
    asset: asked.currency,
    payTo: asked.recipient,
    maxTimeoutSeconds: Number(maxTimeoutSeconds),
    extra: { ...domain, ...named },
  };
  const { relayRequestId } = named;
  const text = JSON.stringify({ x402Version: 2, accepted, payload: { signature, authorization } });
  const payment = { relayRequestId, authorization: text, payer: authorization.from, network };
  return { challengeId: challenge.id, signature: payment };
}

/** Whether the client said that it speaks this protocol. */
export const isMppClient = (headers: IncomingHttpHeaders): boolean =>
  headers['accept-payment'] !== undefined ||
  headers['payment-authorization'] !== undefined ||
  isPayment(headers.authorization);

/** The titles of problems by our reasons. A proof that is refused for another reason is "Verification Failed". */
const TITLES: Record<string, string> = {
  malformed_credential: 'Malformed Credential',
  invalid_challenge: 'Invalid Challenge',
  invalid_payload: 'Invalid Payload',
  invalid_exact_evm_payload_authorization_valid_before: 'Payment Expired',
  offer_expired: 'Payment Expired',
  underpaid: 'Payment Insufficient',
  unpaid: 'Payment Required',
};

/** A 402 as problem details (RFC 9457), which the envelope extends. */
export function problemOf({ message, details }: ErrorBody['error']) {
  const { reason } = (details ?? {}) as { reason?: string };
  const title = reason === undefined ? 'Payment Required' : (TITLES[reason] ?? 'Verification Failed');
  const type = `https://paymentauth.org/problems/${title.toLowerCase().replace(' ', '-')}`;
  return { type, title, status: 402, detail: message };
}

/** The header Payment-Receipt, where a credential of this protocol was settled by a transaction that is known. */
export function sendReceipt(
  { transaction, network, receipt }: { transaction: string; network: string; receipt?: string },
  reply: FastifyReply,
): void {
  const { challengeId } = reply.request;
  if (challengeId === undefined || transaction === '') return;
  const { issuedAt } = ((receipt && jsonOf(receipt.split('.')[1]!)) || {}) as { issuedAt?: number };
  const settledAt = issuedAt === undefined ? new Date() : new Date(issuedAt * 1_000);
  const said = {
    status: 'success',
    method: 'evm',
    timestamp: settledAt.toISOString(),
    reference: transaction,
    challengeId,
    chainId: Number(network.slice(EVM.length)),
  };
  reply.header('payment-receipt', base64urlOf(said));
}

/**
 * The relay request id and a digest of all parameters, and after a dot the offer token. An id that is made up names no
 * offer that the ledger knows.
 */
function idOf(
  { realm, method, intent, request, expires, digest = '', opaque, header }: Omit<Challenge, 'id'>,
  { relayRequestId, offer }: Named,
): string {
  const slots = [realm, method, intent, request, expires, digest, opaque, ...(header === undefined ? [] : [header])];
  const binding = sha256(slots.join('|')).subarray(0, BINDING_BYTES);
  const id = Buffer.concat([Buffer.from(relayRequestId.slice(2), 'hex'), binding]).toString('base64url');
  return offer === undefined ? id : `${id}.${offer}`;
}

function namedBy(id: string): Named {
  const [bytes = '', offer] = id.split('.');
  const relayRequestId = Buffer.from(bytes, 'base64url').subarray(0, RELAY_ID_BYTES).toString('hex').padEnd(64, '0');
  return { relayRequestId: `0x${relayRequestId}`, ...(offer !== undefined && { offer }) };
}

/** Its members are in the order of RFC 8785. */
const requestOf = ({
  amount,
  currency,
  methodDetails: { chainId },
  recipient,
}: z.output<typeof requestSchema>): string =>
  base64urlOf({ amount, currency, methodDetails: { chainId, credentialTypes: ['authorization'] }, recipient });

const nonceOf = (id: string, realm: string): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(`${id}${realm}`))).toString('hex')}`;

const realmOf = (url: string): string => new URL(url).host;
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
/** RFC 9530. */
const digestOf = (body: string): string => `sha-256=:${sha256(body).toString('base64')}:`;
const base64urlOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns undefined if it is no JSON in base64url. */
function jsonOf(encoded: string | object): unknown {
  if (typeof encoded !== 'string') return encoded;
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString());
  } catch {
    return undefined;
  }
}
