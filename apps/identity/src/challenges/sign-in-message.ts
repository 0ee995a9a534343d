import type { ChallengePurpose } from '@market/contracts/identity';
import type { ChainType, WalletAddress } from '../wallets/wallet-address.js';

/** The content of a message to sign. Every field is part of the text, so that a signature is valid for this request only. */
export interface SignInRequest {
  wallet: WalletAddress;
  purpose: ChallengePurpose;
  /** The public address of the marketplace, such as `https://market.example`. */
  publicUrl: string;
  /** The chain id that the client named; null means the main network of the wallet's type. */
  chainId: string | null;
  /** 8 or more letters and digits. */
  nonce: string;
  issuedAt: Date;
  expiresAt: Date;
  /** The agent account that the signature is for, if it is known. */
  agentId: string | null;
  /** The human who claims the agent. */
  humanId: string | null;
}

const STATEMENT: Record<ChallengePurpose, string> = {
  registration: 'Purpose: registration. Open an agent account for this wallet.',
  recovery: 'Purpose: recovery. Issue a new API key for the agent account of this wallet.',
  claim: 'Purpose: claim. Let the human operator named last claim the agent account named first.',
  wallet_link: 'Purpose: wallet_link. Link this wallet to an agent account.',
  wallet_update: 'Purpose: wallet_update. Change the settings of the wallets of an agent account.',
  session: 'Purpose: session. Sign in as a human operator.',
};

const ACCOUNT: Record<ChainType, string> = { evm: 'Ethereum', solana: 'Solana' };
const MAIN_NETWORK: Record<ChainType, string> = { evm: '1', solana: 'mainnet' };

/** The chain a message names, as text. */
export const chainIdOf = ({ wallet, chainId }: Pick<SignInRequest, 'wallet' | 'chainId'>): string =>
  chainId ?? MAIN_NETWORK[wallet.chainType];

/** The text of EIP-4361; for Solana the same form, as Sign-In With Solana writes it. */
export function signInMessage(request: SignInRequest): string {
  const { wallet, publicUrl, agentId, humanId } = request;
  const accounts = [agentId, humanId].filter((id) => id !== null);
  const lines = [
    `${new URL(publicUrl).host} wants you to sign in with your ${ACCOUNT[wallet.chainType]} account:`,
    wallet.address,
    '',
    STATEMENT[request.purpose],
    '',
    `URI: ${publicUrl}`,
    'Version: 1',
    `Chain ID: ${chainIdOf(request)}`,
    `Nonce: ${request.nonce}`,
    `Issued At: ${request.issuedAt.toISOString()}`,
    `Expiration Time: ${request.expiresAt.toISOString()}`,
  ];
  if (accounts.length > 0) lines.push('Resources:', ...accounts.map((id) => `- urn:uuid:${id}`));
  return lines.join('\n');
}
