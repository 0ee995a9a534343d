import { solveProofOfWork, type ChallengeRequest, type Marketplace, type Wallet, type WalletProof } from '@market/sdk';

/** The answer of a wallet to a challenge that this client asks for. */
export async function proofOf(
  market: Marketplace,
  wallet: Wallet,
  purpose: ChallengeRequest['purpose'],
  more: Partial<ChallengeRequest> = {},
): Promise<WalletProof> {
  const { message, nonce } = await market.challenge({ wallet_address: wallet.address, purpose, ...more });
  return { wallet_address: wallet.address, signature: await wallet.sign(message), nonce };
}

/** The same with the work that registration and recovery ask for. */
export async function workProofOf(
  market: Marketplace,
  wallet: Wallet,
  purpose: 'registration' | 'recovery',
): Promise<WalletProof & { pow_nonce: string }> {
  const { message, nonce, pow } = await market.challenge({ wallet_address: wallet.address, purpose });
  return {
    wallet_address: wallet.address,
    signature: await wallet.sign(message),
    nonce,
    pow_nonce: await solveProofOfWork(pow),
  };
}
