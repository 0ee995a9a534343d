import type { BudgetFields, OutputOf } from '@market/contracts';
import type {
  beginOidcSignIn,
  claimAgent,
  createClaimCode,
  createApiKey,
  createChallenge,
  getProfile,
  LinkedWallet,
  openOidcSession,
  openSession,
  recover,
  register,
} from '@market/contracts/identity';
import type { Spending } from './spending.js';
import { BUYER_ID, EARLIER, HUMAN_ID, KEY_ID, LATER, WALLET, WALLET_ID } from '../openapi/example-values.js';

export const challengeExample: OutputOf<typeof createChallenge> = {
  message:
    `market.example wants you to sign in with your Ethereum account:\n${WALLET}\n\n` +
    'Register this wallet with the marketplace.\n\nURI: https://market.example\nVersion: 1\nChain ID: 1\n' +
    'Nonce: 6mq2Ynk0zVxHpT4c\nIssued At: 2026-11-21T14:00:00.000Z\nExpiration Time: 2026-11-21T14:05:00.000Z',
  nonce: '6mq2Ynk0zVxHpT4c',
  expires_in: 300,
  pow: {
    challenge: '3f1d9c0b7a5e48261c0f9e8d7b6a594837261504f8e7d6c5b4a3928170615243',
    difficulty: 4,
    algorithm: 'sha256',
  },
};

export const registerBodyExample = {
  wallet_address: WALLET,
  signature: '0x4f8d…65 bytes in hex…1b',
  nonce: challengeExample.nonce,
  pow_nonce: '1a9f3',
  display_name: 'Field Planner',
};

export const registrationExample: OutputOf<typeof register> = {
  user_id: BUYER_ID,
  wallet_address: WALLET,
  account_type: 'agent',
  api_key: 'am_k_…shown once…',
  authorization_header: 'Bearer am_k_…shown once…',
};

export const profileExample: OutputOf<typeof getProfile> = {
  id: BUYER_ID,
  display_name: 'Field Planner',
  wallet_address: WALLET,
  account_type: 'agent',
  role: 'both',
  is_verified: false,
  bio: null,
  avatar_url: null,
  website: null,
  created_at: EARLIER,
  wallets: [
    {
      id: WALLET_ID,
      address: WALLET,
      chain_type: 'evm',
      label: null,
      is_primary: true,
      is_default_payer: true,
      is_default_payout: true,
      capabilities: ['login', 'recovery', 'payer', 'payout'],
      status: 'active',
      created_at: EARLIER,
    },
  ],
};

export const createdKeyExample: OutputOf<typeof createApiKey> = {
  id: KEY_ID,
  name: 'nightly planner',
  key_prefix: 'am_k_7Qp2xZ9',
  scopes: ['read', 'subscribe'],
  is_active: true,
  created_at: EARLIER,
  expires_at: null,
  budget: null,
  key: 'am_k_…shown once…',
};

export const budgetExample: BudgetFields = {
  per_call_usd: 0.5,
  per_day_usd: 5,
  per_month_usd: 50,
  listings: null,
  frozen: false,
};
export const spendingExample: Spending = {
  day: { from: '2026-11-21T00:00:00.000Z', resets_at: '2026-11-22T00:00:00.000Z', spent_usd: 1.25, left_usd: 3.75 },
  month: { from: '2026-11-01T00:00:00.000Z', resets_at: '2026-12-01T00:00:00.000Z', spent_usd: 20, left_usd: 30 },
};

const { display_name: _name, ...workProofExample } = registerBodyExample;
const { pow_nonce: _work, ...proofExample } = workProofExample;

export const recoverBodyExample = { ...workProofExample, revoke_existing: true };
export const recoveryExample: OutputOf<typeof recover> = { ...registrationExample, revoked_keys: 2 };

export const openSessionBodyExample = proofExample;

export const sessionExample: OutputOf<typeof openSession> = {
  session_token: 'am_s_…shown once…',
  account: {
    id: HUMAN_ID,
    display_name: 'Operator 0x71C7…976F',
    avatar_url: null,
    account_type: 'human',
    is_verified: false,
    wallet_address: WALLET,
  },
  expires_at: LATER,
};

export const beginOidcExample: OutputOf<typeof beginOidcSignIn> = {
  authorization_url: 'https://login.example.com/authorize?client_id=market&response_type=code&state=n2Xq',
  state: 'n2Xq',
  sign_in: 'AmsxX3…',
  expires_in: 600,
};
export const openOidcSessionBodyExample = { sign_in: 'AmsxX3…', code: 'SplxlOBeZQQYbYS6WxSbIA', state: 'n2Xq' };
export const oidcSessionExample: OutputOf<typeof openOidcSession> = {
  ...sessionExample,
  account: { ...sessionExample.account, display_name: 'Ada', wallet_address: null },
};

export const claimBodyExample = { nonce: challengeExample.nonce, signature: registerBodyExample.signature };
export const claimCodeExample: OutputOf<typeof createClaimCode> = {
  code: 'K7QF-9M2X',
  expires_in: 300,
  agent: { id: BUYER_ID, display_name: 'Ada' },
};
export const claimExample: OutputOf<typeof claimAgent> = {
  agent_id: BUYER_ID,
  claimed_by: HUMAN_ID,
  status: 'claimed',
};

export const linkedWalletExample: LinkedWallet = { ...profileExample.wallets[0]!, verified_at: EARLIER };
export const linkWalletBodyExample = {
  existing_wallet: proofExample,
  new_wallet: {
    wallet_address: 'DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy',
    signature: '5J7…64 bytes in base58…',
    nonce: '9c1e5a7b3d2f4860c1f9e8d7b6a59483',
  },
  label: 'cold storage',
  capabilities: ['recovery', 'payout'],
};
export const updateWalletBodyExample = { proof: proofExample, is_default_payout: true };
