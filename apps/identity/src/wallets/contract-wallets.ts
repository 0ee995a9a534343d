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
  InternalRpcError,
  isErc6492Signature,
  LimitExceededRpcError,
  parseAbi,
  parseErc6492Signature,
  RpcRequestError,
  type Address,
  type Hex,
  type PublicClient,
} from 'viem';
import { identityConfig, type IdentityConfig } from '../config.js';

const TIMEOUT_MS = 2_000;

const EIP_1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
/**
 * The result of `isValidSignature` as a whole ABI word. The identity precompile returns its input, and so never this
 * value.
 */
const VALID: Hex = `0x1626ba7e${'0'.repeat(56)}`;
const VALID_BEFORE_DEPLOYMENT: Hex = '0x01';

/** Errors of a node, as opposed to the revert of a contract that rejects a signature. */
const NODE_ERRORS = [InternalRpcError, LimitExceededRpcError];

/** The chain is unreachable, so the signature cannot be verified. */
export class ChainUnreachableError extends Error {
  override readonly name = 'ChainUnreachableError';
}

/**
 * Verifies signatures of EVM contracts: EIP-1271 for deployed contracts, EIP-6492 for contracts that are not deployed yet. It
 * only reads (`eth_call`). Nothing is cached, because the control of a contract may change with every block.
 */
@Injectable()
export class ContractWallets {
  constructor(@Inject(identityConfig.token) private readonly config: Pick<IdentityConfig, 'evmRpcUrls'>) {}

  /** Returns false for chains that are not configured. @throws ChainUnreachableError within 2 seconds. */
  async verify(chainId: string, address: Address, message: string, signature: string): Promise<boolean> {
    const url = this.config.evmRpcUrls.get(chainId);
    const parts = partsOf(signature);
    if (url === undefined || !parts) return false;
    // One deadline applies to all requests together; viem's timeout applies to each request.
    const transport = http(url, {
      retryCount: 0,
      timeout: TIMEOUT_MS,
      fetchOptions: { signal: AbortSignal.timeout(TIMEOUT_MS) },
    });
    try {
      return await isSignatureOf(createPublicClient({ transport }), address, hashMessage(message), parts);
    } catch (error) {
      if (isRejection(error)) return false;
      // The cause contains the URL, which may contain the operator's key for the node.
      throw new ChainUnreachableError(`chain ${chainId} is out of reach`);
    }
  }
}

/** The parts of a contract's signature; `wrapped` if it includes the deployment of the contract. */
interface Parts {
  own: Hex;
  wrapped: Hex | null;
}

function partsOf(signature: string): Parts | null {
  if (!isBytes(signature)) return null;
  if (!isErc6492Signature(signature)) return { own: signature, wrapped: null };
  try {
    return { own: parseErc6492Signature(signature).signature, wrapped: signature };
  } catch {
    return null;
  }
}

const isBytes = (text: string): text is Hex => /^0x(?:[0-9a-fA-F]{2})+$/.test(text);

async function isSignatureOf(
  chain: PublicClient,
  address: Address,
  hash: Hex,
  { own, wrapped }: Parts,
): Promise<boolean> {
  if (await chain.getCode({ address })) {
    const { data } = await chain.call({
      to: address,
      data: encodeFunctionData({ abi: EIP_1271, functionName: 'isValidSignature', args: [hash, own] }),
    });
    return data === VALID;
  }
  if (!wrapped) return false;
  // The code runs as the constructor of a contract that is never created. It deploys the wallet, verifies the signature
  // and leaves no state.
  const data = encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [address, hash, wrapped],
  });
  return (await chain.call({ data })).data === VALID_BEFORE_DEPLOYMENT;
}

/** Whether the node answered that the contract rejected the signature. */
function isRejection(error: unknown): boolean {
  if (!(error instanceof BaseError) || !error.walk((cause) => cause instanceof RpcRequestError)) return false;
  return !error.walk((cause) => NODE_ERRORS.some((trouble) => cause instanceof trouble));
}
