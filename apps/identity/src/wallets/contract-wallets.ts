import { Inject, Injectable } from '@nestjs/common';
import {
  BaseError,
  createPublicClient,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  http,
  HttpRequestError,
  InternalRpcError,
  isErc6492Signature,
  LimitExceededRpcError,
  parseAbi,
  parseErc6492Signature,
  TimeoutError,
  type Address,
  type Hex,
  type PublicClient,
} from 'viem';
import { identityConfig, type IdentityConfig } from '../config.js';

const WITHIN_MS = 2_000;

const EIP_1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
/** The selector of `isValidSignature`, as a whole ABI word; the identity precompile, which echoes its input, cannot answer so. */
const VALID: Hex = `0x1626ba7e${'0'.repeat(56)}`;
const VALID_BEFORE_DEPLOYMENT: Hex = '0x01';

/** What a node or the way to it fails with, as opposed to a contract that says no by reverting. */
const OUTAGES = [HttpRequestError, TimeoutError, InternalRpcError, LimitExceededRpcError];

/** The chain cannot be asked now, so nothing is known of the signature. */
export class ChainUnreachableError extends Error {
  override readonly name = 'ChainUnreachableError';
}

/**
 * Asks EVM contracts whether a signature is theirs: EIP-1271 where there is a contract, EIP-6492 where it is yet to be
 * deployed. Only reads (`eth_call`), and remembers nothing: who controls a contract may change with every block.
 */
@Injectable()
export class ContractWallets {
  constructor(@Inject(identityConfig.token) private readonly config: Pick<IdentityConfig, 'evmRpcUrls'>) {}

  /**
   * False on chains that are not configured.
   * @throws ChainUnreachableError, after 2 seconds at the latest.
   */
  async verify(chainId: string, address: Address, message: string, signature: string): Promise<boolean> {
    const url = this.config.evmRpcUrls.get(chainId);
    if (url === undefined || !isBytes(signature)) return false;
    // One deadline for all that is asked, whatever viem allows each single request.
    const transport = http(url, { retryCount: 0, timeout: WITHIN_MS, fetchOptions: { signal: AbortSignal.timeout(WITHIN_MS) } });
    try {
      return await isSignatureOf(createPublicClient({ transport }), address, hashMessage(message), signature);
    } catch (error) {
      if (error instanceof BaseError && !error.walk((cause) => OUTAGES.some((outage) => cause instanceof outage))) return false;
      // The cause names the URL, which may hold the operator's key to the node.
      throw new ChainUnreachableError(`chain ${chainId} is out of reach`);
    }
  }
}

const isBytes = (text: string): text is Hex => /^0x(?:[0-9a-fA-F]{2})+$/.test(text);

async function isSignatureOf(chain: PublicClient, address: Address, hash: Hex, signature: Hex): Promise<boolean> {
  const wrapped = isErc6492Signature(signature);
  if (await chain.getCode({ address })) {
    const own = wrapped ? parseErc6492Signature(signature).signature : signature;
    const { data } = await chain.call({ to: address, data: encodeFunctionData({ abi: EIP_1271, functionName: 'isValidSignature', args: [hash, own] }) });
    return data === VALID;
  }
  if (!wrapped) return false;
  // Runs as the constructor of a contract that is never created: deploys the wallet, asks it, and leaves nothing.
  const data = encodeDeployData({ abi: erc6492SignatureValidatorAbi, bytecode: erc6492SignatureValidatorByteCode, args: [address, hash, signature] });
  return (await chain.call({ data })).data === VALID_BEFORE_DEPLOYMENT;
}
