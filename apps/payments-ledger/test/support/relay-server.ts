import bs58 from 'bs58';
import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { paths } from '@relayprotocol/relay-sdk';
import { encodeFunctionData, erc20Abi, formatUnits, zeroAddress, type Address } from 'viem';

type QuoteV2 = paths['/quote/v2']['post'];
type StatusV3 = paths['/intents/status/v3']['get']['responses']['200']['content']['application/json'];
export type QuoteBody = QuoteV2['requestBody']['content']['application/json'];
type QuoteAnswer = QuoteV2['responses']['200']['content']['application/json'];
/** The documented answer. The SDK lacks one status and both reasons. */
type StatusAnswer = Omit<StatusV3, 'status'> & {
  status: NonNullable<StatusV3['status']> | 'delayed' | 'unknown';
  failReason?: string;
  refundFailReason?: string;
};

/** An order: its deposit address and its state. */
export interface RelayRequest {
  requestId: string;
  depositAddress: string;
  /** The key of the order's owner. Webhooks report requests that were made with a key. */
  apiKey: string | undefined;
  quote: QuoteBody;
  amountIn: bigint;
  createdAt: number;
  endsAt: number;
  status: StatusAnswer['status'];
  inTxHashes: string[];
  txHashes: string[];
  failReason?: string;
  refundFailReason?: string;
  /** The amount sent back to `refundTo`, in base units. */
  refunded: bigint;
}

/** A faulty answer: another complete answer, no answer, or a connection that is closed without one. */
type Misbehaviour = { status: number; body: string; headers?: Record<string, string> } | 'silence' | 'hang-up';

/**
 * Relay's documented HTTP interface over orders in memory. Strict deposit addresses accept the exact amount, fill it,
 * and send back everything else. Source: docs.relay.link, and the types of @relayprotocol/relay-sdk, whose client can
 * use this server too.
 */
export interface RelayServer {
  readonly url: string;
  readonly apiKey: string;
  readonly requests: Map<string, RelayRequest>;
  /** All received requests, such as `POST /quote/v2`. */
  readonly asked: string[];
  /** Returns a faulty answer to requests of this path, or undefined for the regular one. */
  misbehave: ((path: string, answer: unknown) => Misbehaviour | undefined) | null;
  /** Deposits money at a deposit address: the requested amount, unless `baseUnits` is given. */
  deposit(depositAddress: string, baseUnits?: bigint): RelayRequest;
  /** Completes a pending request. */
  fill(request: RelayRequest): void;
  refund(request: RelayRequest, failReason: string): void;
  of(depositAddress: string): RelayRequest;
  /** Returns a webhook about a request with Relay's signature, sent now unless said otherwise. */
  webhook(
    request: Pick<RelayRequest, 'requestId' | 'status'>,
    changes?: { at?: number; apiKey?: string },
  ): { timestamp: string; signature: string; body: string };
  stop(): void;
}

interface Currency {
  symbol: string;
  decimals: number;
  /** In micros of a US dollar. */
  price: bigint;
}

const ETH: Currency = { symbol: 'ETH', decimals: 18, price: 3_000_000_000n };
const USDC: Currency = { symbol: 'USDC', decimals: 6, price: 1_000_000n };
const SOL: Currency = { symbol: 'SOL', decimals: 9, price: 150_000_000n };
const SOLANA_CHAINS = [792_703_809, 1_936_682_084];
const SOLANA_USDC = ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'];
/** In micros: $0.02 for any price, plus the gas. */
const FLAT_FEE = 23_000n;
const MIN_OUTPUT = 5_000n;

const currencyAt = (chainId: number, address: string): Currency => {
  if (SOLANA_CHAINS.includes(chainId)) return SOLANA_USDC.includes(address) ? USDC : SOL;
  return address === zeroAddress ? ETH : USDC;
};
const amountOf = (chainId: number, address: string, { symbol, decimals, price }: Currency, amount: bigint) => ({
  currency: { chainId, address: SOLANA_CHAINS.includes(chainId) ? address : address.toLowerCase(), symbol, decimals },
  amount: amount.toString(),
  amountFormatted: formatUnits(amount, decimals),
  amountUsd: formatUnits((amount * price) / 10n ** BigInt(decimals), 6),
  minimumAmount: amount.toString(),
});
/** The transaction that a wallet signs to pay an order. On Solana it would be instructions. */
const transfer = (
  { user, originChainId: chainId, originCurrency }: QuoteBody,
  depositAddress: string,
  amount: bigint,
) =>
  originCurrency === zeroAddress
    ? { from: user, to: depositAddress, data: '0x', value: amount.toString(), chainId }
    : {
        from: user,
        to: originCurrency,
        data: encodeFunctionData({
          abi: erc20Abi,
          functionName: 'transfer',
          args: [depositAddress as Address, amount],
        }),
        value: '0',
        chainId,
      };
const newHash = (): string => `0x${randomBytes(32).toString('hex')}`;

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly errorCode?: string,
  ) {
    super(errorCode);
  }
}

export async function startRelayServer(): Promise<RelayServer> {
  const apiKey = randomBytes(16).toString('hex');
  const requests = new Map<string, RelayRequest>();
  const asked: string[] = [];

  const quote = (body: QuoteBody, apiKey: string | undefined): QuoteAnswer => {
    const onSolana = SOLANA_CHAINS.includes(body.originChainId);
    if (!body.useDepositAddress || !body.strict || body.tradeType !== 'EXACT_OUTPUT' || (body.ttl ?? 0) < 600)
      throw new Refusal(400);
    if (!body.refundTo || !body.user || !body.recipient || !/^[1-9]\d*$/.test(body.amount))
      throw new Refusal(400, 'INVALID_ADDRESS');
    const [from, to] = [
      currencyAt(body.originChainId, body.originCurrency),
      currencyAt(body.destinationChainId, body.destinationCurrency),
    ];
    if (to !== USDC) throw new Refusal(400, 'INVALID_OUTPUT_CURRENCY');
    const output = BigInt(body.amount);
    if (output < MIN_OUTPUT) throw new Refusal(400, 'AMOUNT_TOO_LOW');
    const feeBps = BigInt(body.appFees?.[0]?.fee ?? '0');
    const input = ((output + FLAT_FEE) * 10_000n) / (10_000n - feeBps) + 1n;
    const amountIn = (input * 10n ** BigInt(from.decimals) + from.price - 1n) / from.price;
    const depositAddress = onSolana ? bs58.encode(randomBytes(32)) : `0x${randomBytes(20).toString('hex')}`;
    const request: RelayRequest = {
      requestId: newHash(),
      depositAddress,
      apiKey,
      quote: body,
      amountIn,
      createdAt: Date.now(),
      endsAt: Date.now() + body.ttl! * 1000,
      status: 'waiting',
      inTxHashes: [],
      txHashes: [],
      refunded: 0n,
    };
    requests.set(request.requestId, request);
    return {
      steps: [
        {
          id: 'deposit',
          action: 'Confirm transaction in your wallet',
          description: 'Depositing funds to the relayer',
          kind: 'transaction',
          requestId: request.requestId,
          depositAddress,
          items: [
            {
              status: 'incomplete',
              ...(!onSolana && { data: transfer(body, depositAddress, amountIn) }),
              check: { endpoint: `/intents/status/v3?requestId=${request.requestId}`, method: 'GET' },
            },
          ],
        },
      ],
      fees: { app: amountOf(body.originChainId, body.originCurrency, from, (amountIn * feeBps) / 10_000n) },
      details: {
        sender: body.user,
        recipient: body.recipient,
        currencyIn: amountOf(body.originChainId, body.originCurrency, from, amountIn),
        currencyOut: amountOf(body.destinationChainId, body.destinationCurrency, to, output),
        timeEstimate: 2,
      },
    };
  };

  const status = (requestId: string | null): StatusAnswer => {
    const request = requests.get(requestId ?? '');
    if (!request) return { status: 'unknown' };
    const {
      status: at,
      inTxHashes,
      txHashes,
      failReason = 'N/A',
      refundFailReason = 'N/A',
      createdAt: quoteCreatedAt,
      quote: body,
    } = request;
    if (at === 'waiting') return { status: at, quoteCreatedAt };
    return {
      status: at,
      inTxHashes,
      txHashes,
      failReason,
      refundFailReason,
      updatedAt: Date.now(),
      originChainId: body.originChainId,
      destinationChainId: body.destinationChainId,
      quoteCreatedAt,
    };
  };

  const answer = (
    path: string,
    query: URLSearchParams,
    body: string,
    key: string | undefined,
  ): { status: number; value: unknown } => {
    try {
      if (path === 'POST /quote/v2') return { status: 200, value: quote(JSON.parse(body) as QuoteBody, key) };
      if (path === 'GET /intents/status/v3') return { status: 200, value: status(query.get('requestId')) };
      if (path === 'GET /chains') return { status: 200, value: { chains: [{ id: 1 }, { id: 8_453 }, { id: 42_161 }] } };
      // A wallet reports its transaction, so that Relay need not search for it.
      if (path === 'POST /transactions/index' || path === 'POST /transactions/single')
        return { status: 200, value: { message: 'ok' } };
      throw new Refusal(404);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, value: { message: 'it is refused', errorCode: error.errorCode } };
    }
  };

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(message.url!, 'http://relay');
    const path = `${message.method} ${pathname}`;
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    asked.push(path);
    const key = message.headers['x-api-key'] as string | undefined;
    if (key !== undefined && key !== apiKey)
      return void response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"message":"unauthorized","errorCode":"UNAUTHORIZED"}');
    const good = answer(path, searchParams, Buffer.concat(chunks).toString(), key);
    const bad = server.misbehave?.(path, good.value);
    if (bad === 'silence') return;
    if (bad === 'hang-up') return void message.socket.destroy();
    if (bad)
      return void response.writeHead(bad.status, { 'content-type': 'application/json', ...bad.headers }).end(bad.body);
    response.writeHead(good.status, { 'content-type': 'application/json' }).end(JSON.stringify(good.value));
  };

  const listener = createServer(
    (message, response) => void handle(message, response).catch(() => message.socket.destroy()),
  );
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const server: RelayServer = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    apiKey,
    requests,
    asked,
    misbehave: null,
    of: (depositAddress) => [...requests.values()].find((request) => request.depositAddress === depositAddress)!,
    deposit(depositAddress, baseUnits) {
      const request = server.of(depositAddress);
      const came = baseUnits ?? request.amountIn;
      request.inTxHashes = [...request.inTxHashes, newHash()];
      // A strict address accepts one deposit. Relay sends back later deposits and deposits after the expiry.
      if (request.status !== 'waiting') request.refunded += came;
      else if (Date.now() > request.endsAt) server.refund(request, 'TTL_EXPIRED');
      else if (came < request.amountIn) server.refund(request, 'DEPOSITED_AMOUNT_TOO_LOW_TO_FILL');
      else {
        request.status = 'pending';
        request.refunded += came - request.amountIn;
      }
      return request;
    },
    fill(request) {
      request.status = 'success';
      request.txHashes = [newHash()];
    },
    refund(request, failReason) {
      request.status = 'refund';
      request.failReason = failReason;
      request.refunded = request.amountIn;
    },
    webhook({ requestId, status: at }, { at: time = Date.now(), apiKey: key = apiKey } = {}) {
      const timestamp = Math.floor(time / 1000).toString();
      const body = JSON.stringify({
        event: 'request.status.updated',
        timestamp: time,
        data: { status: at, requestId, inTxHashes: [], txHashes: [], updatedAt: time },
      });
      return { timestamp, body, signature: createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex') };
    },
    stop: () => void listener.close().closeAllConnections(),
  };
  return server;
}
