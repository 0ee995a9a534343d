import { isSignedByContract } from '@market/evm';
import { Inject, Injectable } from '@nestjs/common';
import { createPublicClient, hashMessage, http, type Address } from 'viem';
import { identityConfig, type IdentityConfig } from '../config.js';

const TIMEOUT_MS = 2_000;

/** The chain is unreachable, so the signature cannot be verified. */
export class ChainUnreachableError extends Error {
  override readonly name = 'ChainUnreachableError';
}

/** Verifies the messages that EVM contracts have signed (EIP-1271, EIP-6492). */
@Injectable()
export class ContractWallets {
  constructor(@Inject(identityConfig.token) private readonly config: Pick<IdentityConfig, 'evmRpcUrls'>) {}

  /** Returns false for chains that are not configured. @throws ChainUnreachableError within 2 seconds. */
  async verify(chainId: string, address: Address, message: string, signature: string): Promise<boolean> {
    const url = this.config.evmRpcUrls.get(chainId);
    if (url === undefined) return false;
    // One deadline applies to all requests together; viem's timeout applies to each request.
    const transport = http(url, {
      retryCount: 0,
      timeout: TIMEOUT_MS,
      fetchOptions: { signal: AbortSignal.timeout(TIMEOUT_MS) },
    });
    try {
      return await isSignedByContract(createPublicClient({ transport }), address, hashMessage(message), signature);
    } catch {
      // The cause contains the URL, which may contain the operator's key for the node.
      throw new ChainUnreachableError(`chain ${chainId} is out of reach`);
    }
  }
}
