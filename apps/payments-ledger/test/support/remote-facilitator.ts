import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsePayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import type { Facilitator, Settlement } from '../../src/rails/x402/facilitator.js';
import { LocalFacilitator } from '../../src/rails/x402/local-facilitator.js';
import type { EvmHarness } from './evm-harness.js';

/** A fault before or instead of the answer. */
export type Fault =
  | 'break-before'
  | 'deny-after'
  | 'break-after'
  | 'nonsense-after'
  | 'nameless'
  | 'late'
  | 'hang-after'
  | 'reset-after'
  | 'fail-after'
  | 'pending-for-6s'
  | 'pending-200'
  | 'pending-500';

/** A request that a test answers itself. */
export interface Asked {
  operation: 'verify' | 'settle' | 'supported';
  request: IncomingMessage;
  response: ServerResponse;
  /** Moves the money of a request to settle. */
  settle(): Promise<Settlement>;
}

export interface RemoteFacilitator {
  url: string;
  /** Answers a request in its place, or returns false. */
  behaviour: ((asked: Asked) => boolean) | null;
  fault: Fault | null;
  /** How many hand-ins of one signature the fault strikes. */
  times: number;
  /** Faults for the signatures of single wallets, by address. */
  faultsOf: Map<string, { fault: Fault; times: number }>;
  /** How often each signature was handed in to be settled, by its nonce. */
  handIns: Map<string, number>;
  /** The transaction that it reports as the settlement without submitting anything to the chain. */
  lie: string | null;
  /** Resolves when all submitted settlements have ended. */
  idle(): Promise<unknown>;
  stop(): void;
}

/**
 * Serves the protocol's HTTP interface of a facilitator, with configurable faults.
 * @param networks those that it settles on, with its fee payer on Solana.
 * @param isAdmitted whether a request shows the right key.
 */
export async function serveFacilitator(
  facilitator: Facilitator,
  networks: string[] = [],
  isAdmitted: (request: IncomingMessage) => boolean | Promise<boolean> = ({ headers }) =>
    headers.authorization === 'Bearer secret',
): Promise<RemoteFacilitator> {
  const kindsOf = (network: string): object[] => {
    const kind = { x402Version: 2, network };
    const facilitatorAddress = facilitator.uptoAddressOf(network);
    return [
      { ...kind, scheme: 'exact', extra: { feePayer: facilitator.feePayerOf(network) ?? undefined } },
      ...(facilitatorAddress === null ? [] : [{ ...kind, scheme: 'upto', extra: { facilitatorAddress } }]),
    ];
  };
  const running: Promise<unknown>[] = [];
  const firstAt = new Map<string, number>();
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const operation = request.url!.split('/').at(-1) as Asked['operation'];
      if (!(await isAdmitted(request))) return void response.writeHead(401).end();
      if (operation === 'supported') {
        const settle = () => Promise.reject(new Error('nothing to settle'));
        if (remote.behaviour?.({ operation, request, response, settle })) return;
        await facilitator.readReserves();
        const kinds = networks.flatMap(kindsOf);
        return void response.end(JSON.stringify({ kinds, extensions: [], signers: {} }));
      }
      const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString()) as {
        paymentPayload: unknown;
        paymentRequirements: ExactRequirements;
      };
      const payload = parsePayload(JSON.stringify(paymentPayload))!;
      const { network } = paymentRequirements;
      const settle = () => facilitator.settle(payload, paymentRequirements);
      if (operation === 'verify' && remote.behaviour?.({ operation, request, response, settle })) return;
      if (operation === 'verify') {
        const verdict = await facilitator.verify(payload, paymentRequirements);
        return void response.end(
          JSON.stringify(verdict.valid ? { isValid: true } : { isValid: false, invalidReason: verdict.reason }),
        );
      }
      const { lie } = remote;
      const nonce = JSON.stringify((paymentPayload as { payload: unknown }).payload);
      const handIns = (remote.handIns.get(nonce) ?? 0) + 1;
      remote.handIns.set(nonce, handIns);
      if (handIns === 1) firstAt.set(nonce, Date.now());
      if (remote.behaviour?.({ operation, request, response, settle })) return;
      type Signed = { from: string };
      const { authorization, permit2Authorization } = (
        paymentPayload as { payload: { authorization?: Signed; permit2Authorization?: Signed } }
      ).payload;
      const { from } = authorization ?? permit2Authorization ?? {};
      const striking = remote.faultsOf.get(from!) ?? remote;
      const fault = handIns <= striking.times ? striking.fault : null;
      if (fault === 'pending-for-6s' && Date.now() - firstAt.get(nonce)! < 6_000)
        return void response.end(
          JSON.stringify({ success: false, errorReason: 'settlement_pending', transaction: '', network }),
        );
      if (lie) return void response.end(JSON.stringify({ success: true, transaction: lie, network }));
      if (fault === 'break-before') return void response.writeHead(502).end('bad gateway');
      const settled = await facilitator.settle(payload, paymentRequirements).catch((error: Error) => ({
        settled: false as const,
        reason: error.message.includes('nonce') ? 'invalid_exact_evm_nonce_already_used' : 'transaction_failed',
      }));
      if (fault === 'break-after') return void response.writeHead(502).end('bad gateway');
      if (fault === 'hang-after') return;
      if (fault === 'reset-after') return void request.socket.resetAndDestroy();
      if (fault === 'deny-after' || fault === 'fail-after')
        return void response.end(
          JSON.stringify({
            success: false,
            errorReason: fault === 'fail-after' ? 'transaction_failed' : 'insufficient_funds',
            transaction: '',
            network,
          }),
        );
      if (fault === 'pending-200' || fault === 'pending-500')
        return void response
          .writeHead(fault === 'pending-200' ? 200 : 500)
          .end(JSON.stringify({ success: false, errorReason: 'settlement_pending', transaction: '', network }));
      if (fault === 'nonsense-after') return void response.end('<html>');
      if (fault === 'nameless') return void response.end(JSON.stringify({ success: true, transaction: '', network }));
      if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, 2_500));
      response.end(
        JSON.stringify(
          settled.settled
            ? { success: true, transaction: settled.transactionHash, network }
            : { success: false, errorReason: settled.reason, transaction: '', network },
        ),
      );
    };
    running.push(handle().catch((error: Error) => void response.writeHead(502).end(error.message)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const remote: RemoteFacilitator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behaviour: null,
    fault: null,
    times: Infinity,
    faultsOf: new Map(),
    handIns: new Map(),
    lie: null,
    idle: () => Promise.all(running),
    stop: () => void server.close().closeAllConnections(),
  };
  return remote;
}

/** Serves a facilitator that settles on a chain of a test. */
export const serveFacilitatorOf = (
  { node, gasKey }: EvmHarness,
  isAdmitted?: Parameters<typeof serveFacilitator>[2],
): Promise<RemoteFacilitator> =>
  serveFacilitator(
    new LocalFacilitator([{ network: `eip155:${node.chainId}`, chainId: node.chainId, rpcUrls: [node.url] }], gasKey),
    [`eip155:${node.chainId}`],
    isAdmitted,
  );

/** The variables of a ledger that asks facilitators in this order, and waits for none for long. */
export const facilitatorsInOrder = (...facilitators: { url: string }[]): Record<string, string> => ({
  PAYMENTS_LEDGER_X402_FACILITATOR_URL: facilitators.map(({ url }) => url).join(),
  PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: facilitators.map(({ url }) => `${new URL(url).host}=secret`).join(),
  PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '1500',
  PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
});
