import {
  evmWallet,
  Marketplace,
  solanaWallet,
  solveProofOfWork,
  type ChallengePurpose,
  type ListingChallenge,
  type Wallet,
} from '@market/sdk';
import { listFeed, paidOffer } from '../subscriber.js';
import type { Harness } from '../harness.js';
import type { Fixtures } from './fixtures.js';

type Proof = (fixtures: Fixtures, anyone: Marketplace) => Promise<object>;

async function walletProof(market: Marketplace, wallet: Wallet, purpose: ChallengePurpose, agentId?: string) {
  const { message, nonce, pow } = await market.challenge({
    wallet_address: wallet.address,
    purpose,
    agent_id: agentId,
  });
  return { proof: { wallet_address: wallet.address, nonce, signature: await wallet.sign(message) }, pow };
}

/**
 * Fields that are valid once and for a few minutes. With them a request passes the same checks as one of a real client.
 */
const PROOFS: Record<string, Proof> = {
  async register(_fixtures, anyone) {
    const { proof, pow } = await walletProof(anyone, evmWallet(), 'registration');
    return { ...proof, pow_nonce: await solveProofOfWork(pow) };
  },
  /** Recovers an account whose keys no other request uses. */
  async recover(_fixtures, anyone) {
    const wallet = evmWallet();
    await anyone.register(wallet);
    const { proof, pow } = await walletProof(anyone, wallet, 'recovery');
    return { ...proof, pow_nonce: await solveProofOfWork(pow) };
  },
  openSession: async (_fixtures, anyone) => (await walletProof(anyone, evmWallet(), 'session')).proof,
  async linkWallet({ owner }) {
    const [existing, added] = await Promise.all(
      [owner.wallet, solanaWallet()].map((wallet) => walletProof(owner.market, wallet, 'wallet_link')),
    );
    return { existing_wallet: existing!.proof, new_wallet: added!.proof };
  },
  updateWallet: async ({ owner }) => ({
    proof: (await walletProof(owner.market, owner.wallet, 'wallet_update')).proof,
  }),
  async claimAgent({ outsider, human }, anyone) {
    const { nonce, signature } = (
      await walletProof(anyone.authorizedBy(`Bearer ${human.token}`), outsider.wallet, 'claim', outsider.id)
    ).proof;
    return { nonce, signature };
  },
  async verifyPayment({ owner, merchant }) {
    const { payment_id, requirements } = await paidOffer(owner, await listFeed(merchant));
    return { payment_id, relay_request_id: requirements.relayRequestId };
  },
  async createListing({ owner }) {
    // The number of unused challenges of an agent is limited, and a refused request does not use one.
    const answer = await owner.market.send('POST', '/listings/challenge');
    if (answer.status !== 200) return {};
    const puzzle = (answer.json as { data: ListingChallenge }).data;
    return { challenge: puzzle.challenge, pow_nonce: await solveProofOfWork(puzzle) };
  },
};

export const PROVABLE = Object.keys(PROOFS);

/** Creates a fresh proof for the operation. @throws Error if the operation takes none. */
export function liveProof(
  operationId: string,
  fixtures: Fixtures,
  { baseUrl }: Pick<Harness, 'baseUrl'>,
): Promise<object> {
  return PROOFS[operationId]!(fixtures, new Marketplace({ baseUrl }));
}
