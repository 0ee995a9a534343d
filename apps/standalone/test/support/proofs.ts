import { solveProofOfWork, type ChallengeRequest, type Marketplace, type Wallet, type WalletProof } from '@market/sdk';

/** Requests a challenge and answers it with the wallet. */
export async function proofOf(
  market: Marketplace,
  wallet: Wallet,
  purpose: ChallengeRequest['purpose'],
  more: Partial<ChallengeRequest> = {},
): Promise<WalletProof> {
  const { message, nonce } = await market.challenge({ wallet_address: wallet.address, purpose, ...more });
  return { wallet_address: wallet.address, signature: await wallet.sign(message), nonce };
}

/** Like `proofOf`, with the proof of work for registration and recovery. */
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
