import { evmWallet, solanaWallet, solveProofOfWork, type Wallet } from '@market/sdk';
import { newId } from '@market/kernel';
import { OPERATOR } from '@market/testing';
import { bodyOf } from '../buyer.js';
import { signIn } from '../fuzz/fixtures.js';
import type { Agent } from '../harness.js';
import { proofOf, workProofOf } from '../proofs.js';
import type { Rows, Sent, World } from './walk.js';

const INVISIBLE = 'a\u200bb';
const ALL = ['read', 'write', 'subscribe'] as const;

const registerWith = (world: World, body: object): Sent => ({
  by: world.anyone,
  method: 'POST',
  path: '/register',
  body,
});
const keyOf = async ({ market }: Agent, key: object) =>
  bodyOf(await market.send('POST', '/api-keys', { body: { name: 'made', scopes: ALL, ...key } })).data as {
    id: string;
    key: string;
  };
const withKey = async (agent: Agent, key: object) =>
  agent.market.authorizedBy(`Bearer ${(await keyOf(agent, key)).key}`);
const asOperator = async ({ harness, anyone }: World) =>
  anyone.authorizedBy(`Bearer ${(await signIn(harness, evmWallet(OPERATOR.key))).token}`);
const firstWallet = async ({ market }: Agent): Promise<string> => (await market.wallets.list())[0]!.id;
const claimProof = async (market: Agent['market'], { id, wallet }: Agent, by: Wallet = wallet): Promise<object> => {
  const { nonce, signature } = await proofOf(market, by, 'claim', { agent_id: id });
  return { nonce, signature };
};

/** A human, an agent that it may claim, and the request that claims it with another proof. */
async function claiming(
  world: World,
  proof: (human: Agent['market'], agent: Agent) => Promise<object>,
): Promise<{ request: Sent; follow: () => Promise<Partial<Sent>> }> {
  const [{ market }, agent] = [await world.human(), await world.agent()];
  return {
    request: { by: market, method: 'POST', path: `/agents/${agent.id}/claim`, body: await proof(market, agent) },
    follow: async () => ({ body: await claimProof(market, agent) }),
  };
}

/** An agent, and the request for the challenge of a claim with the code that a human made for it. */
async function claimingByCode(world: World): Promise<{ agent: Agent; body: object }> {
  const [{ market }, agent] = [await world.human(), await world.agent()];
  const { code } = await market.claimCode(agent.id);
  return { agent, body: { wallet_address: agent.wallet.address, purpose: 'claim', claim_code: code } };
}

/** A change of the first wallet of an agent, with a fresh proof for each attempt. */
async function walletChange(world: World, change: object) {
  const agent = await world.agent();
  const body = async (changes: object) => ({
    proof: await proofOf(world.anyone, agent.wallet, 'wallet_update'),
    ...changes,
  });
  const request: Sent = {
    by: agent.market,
    method: 'PATCH',
    path: `/me/wallets/${await firstWallet(agent)}`,
    body: await body(change),
  };
  return { agent, body, request };
}

const linkBody = async (world: World, existing: Wallet, added: Wallet, more: object = {}): Promise<object> => ({
  existing_wallet: await proofOf(world.anyone, existing, 'wallet_link'),
  new_wallet: await proofOf(world.anyone, added, 'wallet_link'),
  ...more,
});

export const identityRows: Rows = {
  async 'unauthorized authenticate'(world) {
    const { market } = await world.agent();
    return { request: { by: world.anyone, method: 'GET', path: '/me' }, follow: () => ({ by: market }) };
  },
  async 'wrong_account_type authenticate'(world) {
    const [{ market: human }, { market }] = [await world.human(), await world.agent()];
    return { request: { by: human, method: 'POST', path: '/listings/challenge' }, follow: () => ({ by: market }) };
  },
  async 'wrong_account_type send_agent_id'(world) {
    const [{ market: human }, agent] = [await world.human(), await world.agent()];
    await human.claim(agent.id, agent.wallet);
    const follow = async () => {
      const { agents } = await human.request<{ agents: { agent_id: string }[] }>('GET', '/me');
      return { path: `/receipts?agent_id=${agents[0]!.agent_id}` };
    };
    return { request: { by: human, method: 'GET', path: '/receipts' }, follow };
  },
  async 'agent_not_found send_agent_id'(world) {
    const [{ market: human }, agent, other] = [await world.human(), await world.agent(), await world.agent()];
    await human.claim(agent.id, agent.wallet);
    const follow = async () => {
      const { agents } = await human.request<{ agents: { agent_id: string }[] }>('GET', '/me');
      return { path: `/receipts?agent_id=${agents[0]!.agent_id}` };
    };
    return { request: { by: human, method: 'GET', path: `/receipts?agent_id=${other.id}` }, follow };
  },
  async 'agent_not_found do_not_retry'(world) {
    const { id } = await world.agent();
    return {
      request: { by: world.anyone, method: 'GET', path: `/agents/${newId()}/score` },
      instead: () => world.anyone.score(id),
    };
  },
  async 'agent_id_of_another fix_request'(world) {
    const [{ market }, { id }] = [await world.agent(), await world.agent()];
    return {
      request: { by: market, method: 'GET', path: `/receipts?agent_id=${id}` },
      follow: () => ({ path: '/receipts' }),
    };
  },
  async 'operator_required contact_operator'(world) {
    const { market } = await world.human();
    return {
      request: { by: market, method: 'GET', path: '/admin/overview' },
      follow: async () => ({ by: await asOperator(world) }),
    };
  },
  async 'account_suspended contact_operator'(world) {
    const [{ id, market }, operator] = [await world.agent(), await asOperator(world)];
    await operator.request('POST', `/admin/agents/${id}/suspend`, { body: { reason: 'under review' } });
    return {
      request: { by: market, method: 'GET', path: '/me' },
      follow: () => operator.request('POST', `/admin/agents/${id}/release`, { body: {} }).then(() => undefined),
    };
  },
  async 'cross_site_write authenticate'(world) {
    const { token } = await signIn(world.harness);
    const cookie = { cookie: `am_session=${token}`, 'sec-fetch-site': 'cross-site' };
    return {
      request: { by: world.anyone, method: 'DELETE', path: '/auth/session', headers: cookie },
      follow: () => ({ by: world.anyone.authorizedBy(`Bearer ${token}`) }),
    };
  },
  async 'scope_missing create_key_with_scope'(world) {
    const agent = await world.agent();
    return {
      request: { by: await withKey(agent, { scopes: ['read'] }), method: 'POST', path: '/listings/challenge' },
      follow: async ({ details }) => ({ by: await withKey(agent, { scopes: [details.required_scope] }) }),
    };
  },
  async 'scope_not_held create_key_with_scope'(world) {
    const agent = await world.agent();
    const body = { name: 'wider', scopes: ['write', 'read'] };
    return {
      request: { by: await withKey(agent, { scopes: ['write'] }), method: 'POST', path: '/api-keys', body },
      follow: async ({ details }) => ({
        by: await withKey(agent, { scopes: ['write', ...(details.missing_scopes as string[])] }),
      }),
    };
  },
  async 'api_key_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/api-keys/${newId()}` },
      instead: async () => market.apiKeys.get((await market.apiKeys.list())[0]!),
    };
  },
  async 'webhook_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/webhooks/${newId()}` },
      instead: () => market.webhooks.list(),
    };
  },
  async 'delivery_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    const webhook = await market.webhooks.create({ url: 'https://hooks.example/' });
    return {
      request: { by: market, method: 'POST', path: `/webhook-deliveries/${newId()}/replay` },
      instead: () => market.webhooks.deliveries(webhook),
    };
  },
  async 'webhook_url_refused fix_request'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'POST', path: '/webhooks', body: { url: 'http://127.0.0.1:22/' } },
      follow: () => ({ body: { url: 'https://hooks.example/' } }),
    };
  },
  async 'too_many_webhooks do_not_retry'(world) {
    const { market } = await world.agent();
    const body = { url: 'https://hooks.example/' };
    const made = await Promise.all(Array.from({ length: 10 }, () => market.webhooks.create(body)));
    return {
      request: { by: market, method: 'POST', path: '/webhooks', body },
      instead: () => market.webhooks.remove(made[0]!),
    };
  },
  async 'too_many_keys revoke_key'(world) {
    const agent = await world.agent();
    const keys: { id: string }[] = [];
    for (let n = 1; n < 100; n += 1) keys.push(await keyOf(agent, {}));
    return {
      request: { by: agent.market, method: 'POST', path: '/api-keys', body: { name: 'one more', scopes: ALL } },
      follow: () => agent.market.apiKeys.revoke(keys[0]!).then(() => undefined),
    };
  },
  async 'key_has_budget change_budget'(world) {
    const agent = await world.agent();
    const by = await withKey(agent, { budget: { per_day_usd: 1 } });
    return {
      request: { by, method: 'POST', path: '/api-keys', body: { name: 'more', scopes: ALL } },
      follow: () => ({ by: agent.market }),
    };
  },
  async 'budget_is_the_owners change_budget'(world) {
    const [{ market: human }, agent] = [await world.human(), await world.agent()];
    await human.claim(agent.id, agent.wallet);
    const request: Sent = { by: agent.market, method: 'PATCH', path: '/me/budget', body: { budget: null } };
    return { request, follow: () => ({ by: human, path: `/me/budget?agent_id=${agent.id}` }) };
  },
  async 'name_invalid fix_request'(world) {
    const { market } = await world.agent();
    const body = { name: INVISIBLE, scopes: ALL };
    return {
      request: { by: market, method: 'POST', path: '/api-keys', body },
      follow: () => ({ body: { ...body, name: 'visible' } }),
    };
  },
  async 'expiry_invalid fix_request'(world) {
    const { market } = await world.agent();
    const body = { name: 'late', scopes: ALL, expires_at: '2020-01-01T00:00:00Z' };
    return {
      request: { by: market, method: 'POST', path: '/api-keys', body },
      follow: () => ({ body: { ...body, expires_at: '2099-01-01T00:00:00Z' } }),
    };
  },
  async 'expiry_beyond_own fix_request'(world) {
    const agent = await world.agent();
    const by = await withKey(agent, { expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    const body = { name: 'child', scopes: ALL, expires_at: '2099-01-01T00:00:00Z' };
    return {
      request: { by, method: 'POST', path: '/api-keys', body },
      follow: ({ details }) => ({ body: { ...body, expires_at: details.latest_expires_at } }),
    };
  },

  async 'challenge_invalid request_new_challenge'(world) {
    const wallet = evmWallet();
    const body = { ...(await workProofOf(world.anyone, wallet, 'registration')), nonce: 'never-issued' };
    return {
      request: registerWith(world, body),
      follow: async () => ({ body: await workProofOf(world.anyone, wallet, 'registration') }),
    };
  },
  async 'signature_invalid request_new_challenge'(world) {
    const wallet = evmWallet();
    const proof = await workProofOf(world.anyone, wallet, 'registration');
    return {
      request: registerWith(world, { ...proof, signature: await wallet.sign('something else') }),
      follow: async () => ({ body: await workProofOf(world.anyone, wallet, 'registration') }),
    };
  },
  async 'proof_of_work_invalid solve_proof_of_work'(world) {
    const wallet = evmWallet();
    const { message, nonce, pow } = await world.anyone.challenge({
      wallet_address: wallet.address,
      purpose: 'registration',
    });
    const body = { wallet_address: wallet.address, signature: await wallet.sign(message), nonce };
    // The same challenge, solved.
    return {
      request: registerWith(world, { ...body, pow_nonce: '-' }),
      follow: async () => ({ body: { ...body, pow_nonce: await solveProofOfWork(pow) } }),
    };
  },
  async 'display_name_invalid fix_request'(world) {
    const proof = await workProofOf(world.anyone, evmWallet(), 'registration');
    return {
      request: registerWith(world, { ...proof, display_name: INVISIBLE }),
      follow: () => ({ body: { ...proof, display_name: 'Visible' } }),
    };
  },
  async 'wallet_address_invalid fix_request'(world) {
    const body = { wallet_address: '0x123' };
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/challenge', body },
      follow: () => ({ body: { wallet_address: evmWallet().address } }),
    };
  },
  async 'wallet_already_registered recover_key'(world) {
    const { wallet } = await world.agent();
    return {
      request: registerWith(world, await workProofOf(world.anyone, wallet, 'registration')),
      follow: async () => ({ path: '/auth/recover', body: await workProofOf(world.anyone, wallet, 'recovery') }),
    };
  },
  async 'wallet_not_registered register'(world) {
    const wallet = evmWallet();
    const body = await workProofOf(world.anyone, wallet, 'recovery');
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/recover', body },
      follow: async () => ({ path: '/register', body: await workProofOf(world.anyone, wallet, 'registration') }),
    };
  },
  async 'wallet_cannot_recover do_not_retry'(world) {
    const [agent, linked] = [await world.agent(), solanaWallet()];
    await agent.market.wallets.link(agent.wallet, linked);
    return {
      // A proof is good for one attempt, so each attempt has its own.
      request: {
        by: world.anyone,
        method: 'POST',
        path: '/auth/recover',
        body: () => workProofOf(world.anyone, linked, 'recovery'),
      },
      instead: () => world.anyone.recover(agent.wallet),
    };
  },
  async 'wallet_is_a_humans fix_request'(world) {
    const { wallet } = await signIn(world.harness);
    return {
      request: registerWith(world, await workProofOf(world.anyone, wallet, 'registration')),
      follow: async () => ({ body: await workProofOf(world.anyone, evmWallet(), 'registration') }),
    };
  },
  async 'wallet_is_an_agents fix_request'(world) {
    const { wallet } = await world.agent();
    return {
      request: {
        by: world.anyone,
        method: 'POST',
        path: '/auth/session',
        body: await proofOf(world.anyone, wallet, 'session'),
      },
      follow: async () => ({ body: await proofOf(world.anyone, evmWallet(), 'session') }),
    };
  },

  async 'link_needs_session authenticate'(world) {
    const { market } = await world.human();
    const body = { ...(await proofOf(world.anyone, evmWallet(), 'session')), link: true };
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/session', body },
      follow: () => ({ by: market }),
    };
  },
  async 'sign_in_of_another fix_request'(world) {
    const [{ market }, { wallet }] = [await world.human(), await signIn(world.harness)];
    const proof = async (of: Wallet) => ({ ...(await proofOf(world.anyone, of, 'session')), link: true });
    return {
      request: { by: market, method: 'POST', path: '/auth/session', body: await proof(wallet) },
      follow: async () => ({ body: await proof(evmWallet()) }),
    };
  },
  async 'oidc_not_configured do_not_retry'(world) {
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/oidc' },
      instead: () => signIn(world.harness),
    };
  },

  async 'claim_needs_agent fix_request'(world) {
    const [{ market }, agent] = [await world.human(), await world.agent()];
    const body = { wallet_address: agent.wallet.address, purpose: 'claim' };
    return {
      request: { by: market, method: 'POST', path: '/auth/challenge', body },
      follow: () => ({ body: { ...body, agent_id: agent.id } }),
    };
  },
  async 'claim_needs_session authenticate'(world) {
    const [{ market }, agent] = [await world.human(), await world.agent()];
    const body = { wallet_address: agent.wallet.address, purpose: 'claim', agent_id: agent.id };
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/challenge', body },
      follow: () => ({ by: market }),
    };
  },
  async 'claim_code_needs_key authenticate'(world) {
    const { body, agent } = await claimingByCode(world);
    return {
      request: { by: world.anyone, method: 'POST', path: '/auth/challenge', body },
      follow: () => ({ by: agent.market }),
    };
  },
  async 'claim_code_invalid fix_request'(world) {
    const { body, agent } = await claimingByCode(world);
    return {
      request: {
        by: agent.market,
        method: 'POST',
        path: '/auth/challenge',
        body: { ...body, claim_code: 'of nobody' },
      },
      follow: () => ({ body }),
    };
  },
  'claim_of_another_agent request_new_challenge': (world) =>
    claiming(world, async (human) => claimProof(human, await world.agent())),
  'claim_of_another_human request_new_challenge': (world) =>
    claiming(world, async (_human, agent) => claimProof((await world.human()).market, agent)),
  'wallet_not_of_agent request_new_challenge': (world) =>
    claiming(world, (human, agent) => claimProof(human, agent, evmWallet())),
  async 'agent_already_claimed do_not_retry'(world) {
    const [{ market: human }, { market: late }, agent] = [
      await world.human(),
      await world.human(),
      await world.agent(),
    ];
    await human.claim(agent.id, agent.wallet);
    return {
      request: {
        by: late,
        method: 'POST',
        path: `/agents/${agent.id}/claim`,
        body: () => claimProof(late, agent),
      },
      instead: async () => late.claim((await world.agent()).id, agent.wallet).catch(() => undefined),
    };
  },

  async 'primary_wallet_required fix_request'(world) {
    const { agent, body, request } = await walletChange(world, { is_primary: false });
    const other = await agent.market.wallets.link(agent.wallet, evmWallet());
    return {
      request,
      follow: async () => ({ path: `/me/wallets/${other.id}`, body: await body({ is_primary: true }) }),
    };
  },
  async 'label_invalid fix_request'(world) {
    const { body, request } = await walletChange(world, { label: INVISIBLE });
    return { request, follow: async () => ({ body: await body({ label: 'visible' }) }) };
  },
  async 'would_remove_last_recovery_wallet link_wallet'(world) {
    const { agent, body, request } = await walletChange(world, { status: 'disabled' });
    return {
      request,
      async follow() {
        await agent.market.wallets.link(agent.wallet, evmWallet(), { capabilities: ['recovery'] });
        return { body: await body({ status: 'disabled' }) };
      },
    };
  },
  async 'wallet_not_eligible fix_request'(world) {
    const agent = await world.agent();
    const { id } = await agent.market.wallets.link(agent.wallet, evmWallet(), { capabilities: ['payout'] });
    const body = async (change: object) => ({
      proof: await proofOf(world.anyone, agent.wallet, 'wallet_update'),
      ...change,
    });
    return {
      request: {
        by: agent.market,
        method: 'PATCH',
        path: `/me/wallets/${id}`,
        body: await body({ is_default_payer: true }),
      },
      follow: async () => ({ body: await body({ is_default_payer: true, capabilities: ['payout', 'payer'] }) }),
    };
  },
  async 'wallet_not_found do_not_retry'(world) {
    const agent = await world.agent();
    return {
      request: { by: agent.market, method: 'GET', path: `/me/wallets/${newId()}` },
      instead: async () => agent.market.wallets.get(await firstWallet(agent)),
    };
  },
  async 'proof_not_sufficient request_new_challenge'(world) {
    const [agent, other, added] = [await world.agent(), await world.agent(), evmWallet()];
    return {
      request: {
        by: agent.market,
        method: 'POST',
        path: '/me/wallets',
        body: await linkBody(world, other.wallet, added),
      },
      follow: async () => ({ body: await linkBody(world, agent.wallet, added) }),
    };
  },
  async 'wallet_already_linked do_not_retry'(world) {
    const [agent, other] = [await world.agent(), await world.agent()];
    return {
      request: {
        by: agent.market,
        method: 'POST',
        path: '/me/wallets',
        body: () => linkBody(world, agent.wallet, other.wallet),
      },
      instead: () => agent.market.wallets.link(agent.wallet, evmWallet()),
    };
  },
  async 'too_many_wallets do_not_retry'(world) {
    const agent = await world.agent();
    for (let n = 1; n < 50; n += 1) await agent.market.wallets.link(agent.wallet, evmWallet());
    return {
      request: {
        by: agent.market,
        method: 'POST',
        path: '/me/wallets',
        body: () => linkBody(world, agent.wallet, evmWallet()),
      },
      instead: () => agent.market.wallets.list(),
    };
  },
};
