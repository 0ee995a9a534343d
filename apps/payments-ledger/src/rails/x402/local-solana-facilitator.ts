import { createKeyPairSignerFromBytes, createSolanaRpc, type Address } from '@solana/kit';
import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { registerExactSvmScheme } from '@x402/svm/exact/facilitator';
import bs58 from 'bs58';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import {
  Facilitator,
  onTheWire,
  settlementFrom,
  type Reserve,
  type Settlement,
  type Verification,
} from './facilitator.js';
import { Reserves } from './reserves.js';
import { ORDINARY_LAMPORTS } from './settlement-cost.js';
import type { SolanaChain } from './x402-settings.js';

const PUBLIC_KEY_OFFSET = 32;
const SIMULATION_FAILED = 'invalid_exact_svm_transaction_simulation_failed';

/**
 * Runs the public facilitator package for Solana in this process. Each cluster is reached through the first of its
 * servers.
 */
export class LocalSolanaFacilitator extends Facilitator {
  private readonly facilitator: Promise<x402Facilitator>;
  /** The account that pays the fees. */
  readonly id: string;
  private readonly reserves = new Reserves();

  /**
   * @param keyPair 64 bytes, the private key first. It pays the fees of transactions and cannot spend anything else.
   */
  constructor(
    private readonly chains: Pick<SolanaChain, 'network' | 'rpcUrls'>[],
    keyPair: Uint8Array,
  ) {
    super();
    this.id = bs58.encode(keyPair.subarray(PUBLIC_KEY_OFFSET));
    this.facilitator = this.register(keyPair);
  }

  override feePayerOf(): string {
    return this.id;
  }

  override async readReserves(): Promise<Reserve[]> {
    const reserves = await Promise.all(
      this.chains.map(async ({ network, rpcUrls: [url] }) => {
        const { value } = await createSolanaRpc(url!)
          .getBalance(this.id as Address)
          .send();
        return { network, account: this.id, settlements: Number(value / ORDINARY_LAMPORTS) };
      }),
    );
    return this.reserves.note(reserves);
  }

  override problemOn(network: string): string | undefined {
    return this.reserves.problemOn(network);
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const problem = this.problemOn(requirements.network);
    if (problem !== undefined) throw new Error(problem);
    const facilitator = await this.facilitator;
    const { isValid, invalidReason, invalidMessage } = await facilitator.verify(...onTheWire(payload, requirements));
    // The package reports the same reason if the server is unavailable and if the transaction fails.
    if (invalidReason === SIMULATION_FAILED && !invalidMessage?.startsWith('Simulation failed: '))
      throw new Error(`the RPC server of ${requirements.network} does not simulate: ${invalidMessage}`);
    return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
  }

  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    return settlementFrom(await (await this.facilitator).settle(...onTheWire(payload, requirements)));
  }

  private async register(keyPair: Uint8Array): Promise<x402Facilitator> {
    const account = await createKeyPairSignerFromBytes(keyPair);
    const servers = this.chains.map(({ network, rpcUrls: [url] }) => [network, createSolanaRpc(url!)] as const);
    return registerExactSvmScheme(new x402Facilitator(), {
      signer: toFacilitatorSvmSigner(account, Object.fromEntries(servers) as never),
      networks: this.chains.map(({ network }) => network as `solana:${string}`),
    });
  }
}
