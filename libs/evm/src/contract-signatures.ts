import {
  BaseError,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
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

const EIP_1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
/**
 * The result of `isValidSignature` as a whole ABI word. The identity precompile returns its input, and so never this
 * value.
 */
const VALID: Hex = `0x1626ba7e${'0'.repeat(56)}`;
const VALID_BEFORE_DEPLOYMENT: Hex = '0x01';
/** Several times what a passkey takes that is verified in Solidity, and the deployment of its wallet. */
const MOST_GAS = 5_000_000n;

/** Errors of a node, as opposed to the revert of a contract that rejects a signature. */
const NODE_ERRORS = [InternalRpcError, LimitExceededRpcError];

/** A signature of a contract that may not exist yet. */
export interface ContractSignature {
  /** What the contract itself is asked about. */
  own: Hex;
  /** The call that deploys the contract, if the signature includes it (EIP-6492). */
  deployment: { factory: Address; data: Hex } | null;
}

/** Returns null for what cannot be a signature. */
export function readContractSignature(signature: string): ContractSignature | null {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(signature)) return null;
  const bytes = signature as Hex;
  if (!isErc6492Signature(bytes)) return { own: bytes, deployment: null };
  try {
    const { address: factory, data, signature: own } = parseErc6492Signature(bytes);
    return { own, deployment: { factory: factory!, data: data! } };
  } catch {
    return null;
  }
}

/**
 * Whether the contract at an address says that it has signed a hash (EIP-1271), or would say so once its signature has
 * deployed it (EIP-6492). Only reads (`eth_call`). Do not keep the answer: the control of a contract may change with
 * every block.
 * @throws Error if the chain gives no answer. It may contain the URL of the server.
 */
export async function isSignedByContract(
  chain: Pick<PublicClient, 'call' | 'getCode'>,
  address: Address,
  hash: Hex,
  signature: string,
): Promise<boolean> {
  const read = readContractSignature(signature);
  if (!read) return false;
  try {
    if (await chain.getCode({ address })) {
      const data = encodeFunctionData({ abi: EIP_1271, functionName: 'isValidSignature', args: [hash, read.own] });
      return (await chain.call({ to: address, data, gas: MOST_GAS })).data === VALID;
    }
    if (!read.deployment) return false;
    // The code runs as the constructor of a contract that is never created. It deploys the wallet, verifies the
    // signature and leaves no state.
    const data = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [address, hash, signature as Hex],
    });
    return (await chain.call({ data, gas: MOST_GAS })).data === VALID_BEFORE_DEPLOYMENT;
  } catch (error) {
    if (isRejection(error)) return false;
    throw error;
  }
}

/** Whether the node answered that the contract rejected the signature. */
function isRejection(error: unknown): boolean {
  if (!(error instanceof BaseError) || !error.walk((cause) => cause instanceof RpcRequestError)) return false;
  return !error.walk((cause) => NODE_ERRORS.some((trouble) => cause instanceof trouble));
}
