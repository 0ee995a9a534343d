import type { PaymentOffer } from '@market/contracts/payments-ledger';
import type { IncomingHttpHeaders } from 'node:http';
import { requestInvalid } from '../http/edge-refusals.js';
import type { PaidResource } from './x402.js';

type Requirements = NonNullable<PaymentOffer['x402']>;

export const X_PAYMENT = 'X-PAYMENT';
const LONGEST = 16_384;

/** Version 1 has names where version 2 has CAIP-2 ids. Source: the legacy networks of @x402/evm. */
const NAMES: Record<string, string> = {
  'eip155:1': 'ethereum',
  'eip155:137': 'polygon',
  'eip155:8453': 'base',
  'eip155:84532': 'base-sepolia',
  'eip155:11155111': 'sepolia',
};

/**
 * What clients of x402 version 1 read, at the top of the body of a 402; nothing on a network that they have no name for.
 * Source: specs/x402-specification.md (version 1) of github.com/coinbase/x402.
 */
export function v1KeysOf({ network, amount, extra, ...terms }: Requirements, resource: PaidResource): { x402Version: 1; accepts: object[] } | undefined {
  const name = NAMES[network];
  if (name === undefined) return undefined;
  const accepted = { ...terms, network: name, maxAmountRequired: amount, resource: resource.url, description: resource.description, mimeType: 'application/json', extra: { name: extra.name, version: extra.version } };
  return { x402Version: 1, accepts: [accepted] };
}

export interface V1Payment {
  /** Names the offer: every offer has an address of its own. */
  payTo: string;
  /** The same payment as a client of version 2 would hand it in. */
  asV2(requirements: Requirements): string;
}

/** `X-PAYMENT`: base64 of a payload that says what is signed, and not for which offer. @throws Refusal when it is none. */
export function readV1Payment(headers: IncomingHttpHeaders): V1Payment | undefined {
  const given = headers['x-payment'];
  if (given === undefined) return undefined;
  const read = typeof given === 'string' && given.length <= LONGEST ? parse(given) : undefined;
  const payTo = read?.payload?.authorization?.to;
  if (!read || read.x402Version !== 1 || typeof payTo !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(payTo)) {
    throw requestInvalid([{ field: X_PAYMENT, message: 'must be base64 of an x402 version 1 payload of scheme exact on an EVM network' }]);
  }
  const { scheme, network, payload } = read;
  return {
    payTo,
    asV2: (requirements) => JSON.stringify({ x402Version: 2, accepted: { ...requirements, scheme, network: network === NAMES[requirements.network] ? requirements.network : network }, payload }),
  };
}

interface Payload {
  x402Version?: unknown;
  scheme?: unknown;
  network?: unknown;
  payload?: { authorization?: { to?: unknown } | null } | null;
}

function parse(header: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
