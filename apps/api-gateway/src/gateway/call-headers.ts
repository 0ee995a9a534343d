import { currency, RELAY_REQUEST_ID_PATTERN, type Currency } from '@market/contracts';
import { isUuid } from '@market/kernel';
import { ApiHeader } from '@nestjs/swagger';
import { applyDecorators } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { requestInvalid, type FieldProblem } from '../http/edge-refusals.js';

/** The values of the headers of a gateway call. */
export interface CallHeaders {
  relayRequestId?: string;
  originCurrency?: Currency;
  originChainId?: string;
  originWalletId?: string;
  paymentScheme?: string;
  paymentNetwork?: string;
}

interface HeaderRule<T = string> {
  name: string;
  /** Returns undefined if the value is invalid. */
  read(value: string): T | undefined;
  problem: string;
  description: string;
}

/** Accepts CAIP-2 ids and names of schemes. A repeated header is joined with a comma and therefore invalid. */
const token = (max: number) => (value: string) =>
  value.length <= max && /^[\w.:/-]+$/.test(value) ? value : undefined;

const RULES: { [K in keyof Required<CallHeaders>]: HeaderRule<NonNullable<CallHeaders[K]>> } = {
  relayRequestId: {
    name: 'X-Market-Relay-Request-Id',
    read: (value) => (RELAY_REQUEST_ID_PATTERN.test(value) ? value : undefined),
    problem: 'must be 0x and 64 lower-case hex digits, as the 402 gave it',
    description: 'Names the payment; required on the retry after paying.',
  },
  originCurrency: {
    name: 'X-Market-Origin-Currency',
    read: (value) => currency.options.find((option) => option === value),
    problem: `must be one of ${currency.options.join(', ')}`,
    description: 'What to pay with; else the marketplace chooses a route that carries the price.',
  },
  originChainId: {
    name: 'X-Market-Origin-Chain-Id',
    read: token(64),
    problem: 'must be a chain id of at most 64 characters',
    description: 'Chain to pay on.',
  },
  originWalletId: {
    name: 'X-Market-Origin-Wallet-Id',
    read: (value) => (isUuid(value) ? value.toLowerCase() : undefined),
    problem: 'must be the uuid of a linked wallet',
    description: 'Linked wallet to pay from.',
  },
  paymentScheme: {
    name: 'X-Market-Payment-Scheme',
    read: token(64),
    problem: 'must be a payment scheme of at most 64 characters',
    description: 'From retry_headers, where the 402 gave it.',
  },
  paymentNetwork: {
    name: 'X-Market-Payment-Network',
    read: token(128),
    problem: 'must be a payment network of at most 128 characters',
    description: 'From retry_headers, where the 402 gave it.',
  },
};

const ENTRIES = Object.entries(RULES).map(([key, rule]) => ({
  key,
  header: rule.name.toLowerCase(),
  ...(rule as HeaderRule),
}));

/** @throws Refusal that names every invalid header. */
export function readCallHeaders(headers: IncomingHttpHeaders): CallHeaders {
  const values: Record<string, string> = {};
  let problems: FieldProblem[] | undefined;
  for (const { key, header, name, read, problem } of ENTRIES) {
    const given = headers[header];
    if (given === undefined) continue;
    const value = typeof given === 'string' ? read(given) : undefined;
    if (value === undefined) (problems ??= []).push({ field: name, message: problem });
    else values[key] = value;
  }
  if (problems) throw requestInvalid(problems);
  return values;
}

export const ApiCallHeaders = (): MethodDecorator =>
  applyDecorators(...ENTRIES.map(({ name, description }) => ApiHeader({ name, required: false, description })));
