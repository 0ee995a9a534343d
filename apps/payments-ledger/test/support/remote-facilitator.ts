import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsePayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import type { Facilitator } from '../../src/rails/x402/facilitator.js';

/** A fault before or instead of the answer. */
type Fault =
  | 'break-before'
  | 'deny-after'
  | 'break-after'
  | 'nonsense-after'
  | 'nameless'
  | 'late'
  | 'pending-200'
  | 'pending-500';

export interface RemoteFacilitator {
  url: string;
  fault: Fault | null;
  /** The transaction that it reports as the settlement without submitting anything to the chain. */
  lie: string | null;
  /** Resolves when all submitted settlements have ended. */
  idle(): Promise<unknown>;
  stop(): void;
}

/**
 * Serves the protocol's HTTP interface of a facilitator, with configurable faults.
 * @param networks the Solana networks for which it names the fee payer.
 */
export async function serveFacilitator(facilitator: Facilitator, networks: string[] = []): Promise<RemoteFacilitator> {
  const kinds = networks.map((network) => ({
    x402Version: 2,
    scheme: 'exact',
    network,
    extra: { feePayer: facilitator.feePayerOf(network) },
  }));
  const running: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.headers.authorization !== 'Bearer secret') return void response.writeHead(401).end();
      if (request.url === '/supported')
        return void response.end(JSON.stringify({ kinds, extensions: [], signers: {} }));
      const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString()) as {
        paymentPayload: unknown;
        paymentRequirements: ExactRequirements;
      };
      const payload = parsePayload(JSON.stringify(paymentPayload))!;
      const { network } = paymentRequirements;
      if (request.url === '/verify') {
        const verdict = await facilitator.verify(payload, paymentRequirements);
        return void response.end(
          JSON.stringify(verdict.valid ? { isValid: true } : { isValid: false, invalidReason: verdict.reason }),
        );
      }
      const { fault, lie } = remote;
      if (lie) return void response.end(JSON.stringify({ success: true, transaction: lie, network }));
      if (fault === 'break-before') return void response.writeHead(502).end('bad gateway');
      const settled = await facilitator.settle(payload, paymentRequirements).catch((error: Error) => ({
        settled: false as const,
        reason: error.message.includes('nonce') ? 'invalid_exact_evm_nonce_already_used' : 'transaction_failed',
      }));
      if (fault === 'break-after') return void response.writeHead(502).end('bad gateway');
      if (fault === 'deny-after')
        return void response.end(
          JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '', network }),
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
    fault: null,
    lie: null,
    idle: () => Promise.all(running),
    stop: () => void server.close().closeAllConnections(),
  };
  return remote;
}
